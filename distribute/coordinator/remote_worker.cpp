#include "cohort/distribute/coordinator/remote_worker.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/function_registration.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

proto::ClosureProto describe_closure(const Closure& closure) {
  proto::ClosureProto metadata;
  metadata.set_steps(closure.steps);
  metadata.set_seed(closure.random.seed);
  metadata.set_epoch(closure.random.epoch);
  metadata.set_step(closure.random.step);
  for (const Lease& lease : closure.leases) write_lease(lease, *metadata.add_leases());
  metadata.mutable_versions()->Add(closure.versions.begin(), closure.versions.end());
  return metadata;
}

}  // namespace

RemoteWorker::RemoteWorker(std::shared_ptr<TaskConnections> connections,
                           std::shared_ptr<const PipelineDatasets> datasets, int index)
    : connections_(std::move(connections)), datasets_(std::move(datasets)), index_(index) {}

// Of the error being handled: is it this worker that is gone, so that another one takes over, or a ps, without which
// nobody can go on?
void RemoteWorker::rethrow_as_lost_task() const {
  try {
    throw;
  } catch (const rpc::RpcError& error) {
    if (error.peer().task != task()) throw LostParameterServer(error.peer().task, error.what());
    if (error.code() == ErrorCode::Cancelled) throw;
    throw Error(ErrorCode::Unavailable, error.what());
  } catch (const Error& error) {
    // The worker itself is there to say so.
    if (error.code() == ErrorCode::Unavailable) throw LostParameterServer("ps", error.what());
    throw;
  }
}

bool RemoteWorker::reconnect() {
  closures_.reset();
  calls_.reset();
  {
    std::lock_guard lock(mutex_);
    cancel_connection_.reset();
  }
  try {
    connection_ = connections_->connect_worker(index_);
  } catch (const rpc::RpcError&) {
    return false;
  }
  // It may be another process by now, which knows nothing.
  constants_.clear();
  functions_.clear();
  pipelines_.clear();
  calls_ = std::make_unique<rpc::RepeatingStream>(connection_->open());
  closures_ = std::make_unique<rpc::RepeatingStream>(connection_->open());
  std::lock_guard lock(mutex_);
  cancel_connection_ = connection_;
  return true;
}

void RemoteWorker::register_function(const PlacedFunction& function) {
  if (functions_.contains(function.handle())) return;
  register_on_worker(function, *calls_, connections_->job(), constants_);
  functions_.insert(function.handle());
}

void RemoteWorker::create_pipeline(int dataset, int pipeline) {
  if (pipelines_.contains({dataset, pipeline})) return;
  proto::CreatePipelineProto metadata;
  ConstantTable constants;
  const PipelineDatasets::Entry entry = datasets_->find(dataset, pipeline);
  metadata.set_dataset(dataset);
  metadata.set_pipeline(pipeline);
  metadata.set_chain(serialize(entry.dataset, constants));
  metadata.set_beginning(entry.beginning);
  call_with_constants<Method::CreatePipeline>(*calls_, {.job = connections_->job()}, metadata, constants, constants_);
  pipelines_.insert({dataset, pipeline});
}

void RemoteWorker::start(const Closure& closure, std::uint64_t all_done_below) {
  try {
    if (!closures_ && !reconnect()) {
      throw rpc::RpcError(ErrorCode::Unavailable, connections_->worker(index_), 0, Method::RunClosure, {},
                          "the worker does not answer");
    }
    register_function(*closure.function);
    for (const Lease& lease : closure.leases) create_pipeline(lease.dataset, lease.pipeline);
    Message request;
    for (const Tensor& argument : closure.arguments) request.parts.push_back(argument.to_host());
    const Head head{.job = connections_->job(),
                    .function = closure.function->handle(),
                    .closure = closure.id,
                    .all_done_below = all_done_below};
    write_request<Method::RunClosure>(head, describe_closure(closure), request);
    {
      std::lock_guard lock(mutex_);
      newest_closure_ = std::max(newest_closure_, closure.id);
    }
    closures_->send(request);
  } catch (const Error&) {
    rethrow_as_lost_task();
  }
}

ClosureResult RemoteWorker::finish(const Closure& oldest) {
  try {
    reply_.head.flags = 0;
    closures_->receive(reply_);
  } catch (const Error& error) {
    if (!(reply_.head.flags & kLeaving)) rethrow_as_lost_task();
    throw rpc::RpcError(ErrorCode::Unavailable, connections_->worker(index_), reply_.head.incarnation,
                        Method::RunClosure, {}, std::string("the worker is being stopped: ") + error.what());
  }
  proto::ClosureResultProto from;
  read_metadata(task(), reply_, from);
  if (from.accumulated() < 0 || static_cast<std::size_t>(from.accumulated()) > reply_.parts.size()) {
    throw Error(ErrorCode::DataLoss, task(), "a result must bring the sums it counts",
                {{"sums", from.accumulated()}, {"parts", reply_.parts.size()}});
  }
  if (from.steps() < 0 || from.steps() > oldest.steps) {
    throw Error(ErrorCode::DataLoss, task(), "a result must be of no more steps than its closure has",
                {{"steps", from.steps()}, {"closure.steps", oldest.steps}});
  }
  ClosureResult result;
  result.steps = from.steps();
  result.data_ended = from.data_ended();
  const auto first_output = reply_.parts.begin() + from.accumulated();
  result.accumulated.assign(reply_.parts.begin(), first_output);
  result.outputs.assign(first_output, reply_.parts.end());
  result.states.assign(from.states().begin(), from.states().end());
  return result;
}

void RemoteWorker::cancel() {
  std::shared_ptr<rpc::Connection> connection;
  Head head{.job = connections_->job()};
  {
    std::lock_guard lock(mutex_);
    connection = cancel_connection_;
    head.closure = newest_closure_;
  }
  if (!connection) return;
  try {
    call<Method::Cancel>(*connection->open(), head);
  } catch (const std::exception& error) {
    log::warn(task() + ": could not be told to stop: " + error.what());
  }
}

}  // namespace cohort::distribute
