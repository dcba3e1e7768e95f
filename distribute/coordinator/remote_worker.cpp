#include "cohort/distribute/coordinator/remote_worker.h"

#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/placed_function.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {

int PipelineDatasets::add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    std::string beginning = i < beginnings.size() ? beginnings[i] : pipelines[i].walk()->save();
    entries.push_back({std::move(pipelines[i]), std::move(beginning)});
  }
  std::lock_guard lock(mutex_);
  datasets_.push_back(std::move(entries));
  return static_cast<int>(datasets_.size()) - 1;
}

PipelineDatasets::Entry PipelineDatasets::find(int dataset, int pipeline) const {
  std::lock_guard lock(mutex_);
  return datasets_.at(static_cast<std::size_t>(dataset)).at(static_cast<std::size_t>(pipeline));
}

RemoteWorker::RemoteWorker(std::shared_ptr<Cluster> cluster, std::shared_ptr<const PipelineDatasets> datasets,
                           int index)
    : cluster_(std::move(cluster)), datasets_(std::move(datasets)), index_(index) {}

// Tells who is gone: this worker, so that another one takes over, or a ps, without which nobody can go on.
template <class F>
void RemoteWorker::saying_who_is_gone(F call) const {
  try {
    call();
  } catch (const rpc::RpcError& error) {
    if (error.peer().task != task()) throw LostServer(error.peer().task, error.what());
    if (error.code() == ErrorCode::Cancelled) throw;
    throw Error(ErrorCode::Unavailable, error.what());
  } catch (const Error& error) {
    // The worker itself is there to say so.
    if (error.code() == ErrorCode::Unavailable) throw LostServer("ps", error.what());
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
    connection_ = cluster_->connect_worker(index_);
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

void RemoteWorker::create_pipeline(int dataset, int pipeline) {
  proto::CreatePipelineProto meta;
  ConstantTable constants;
  meta.set_dataset(dataset);
  meta.set_pipeline(pipeline);
  const PipelineDatasets::Entry entry = datasets_->find(dataset, pipeline);
  meta.set_chain(serialize(entry.dataset, constants));
  meta.set_beginning(entry.beginning);
  Tensors parts;
  constants_.attach(constants, *meta.mutable_constants(), parts);
  call<Method::CreatePipeline>(*calls_, {.job = cluster_->job()}, meta, std::move(parts));
  pipelines_.insert({dataset, pipeline});
}

void RemoteWorker::start(const Closure& closure, std::uint64_t all_done_below) {
  saying_who_is_gone([&] { send(closure, all_done_below); });
}

void RemoteWorker::send(const Closure& closure, std::uint64_t all_done_below) {
  if (!closures_ && !reconnect()) {
    throw rpc::RpcError(ErrorCode::Unavailable, cluster_->worker(index_), 0, Method::RunClosure, {},
                        "the worker does not answer");
  }
  if (!functions_.contains(closure.function->handle())) {
    closure.function->register_on(*calls_, cluster_->job(), constants_);
    functions_.insert(closure.function->handle());
  }
  proto::ClosureProto meta;
  meta.set_steps(closure.steps);
  meta.set_seed(closure.random.seed);
  meta.set_epoch(closure.random.epoch);
  meta.set_step(closure.random.step);
  for (const Lease& lease : closure.leases) {
    if (!pipelines_.contains({lease.dataset, lease.pipeline})) create_pipeline(lease.dataset, lease.pipeline);
    write_lease(lease, *meta.add_leases());
  }
  meta.mutable_versions()->Add(closure.versions.begin(), closure.versions.end());
  const Head head{.job = cluster_->job(),
                  .function = closure.function->handle(),
                  .closure = closure.id,
                  .all_done_below = all_done_below};
  Message request;
  write_request<Method::RunClosure>(head, meta, request);
  for (const Tensor& argument : closure.arguments) request.parts.push_back(argument.to_host());
  {
    std::lock_guard lock(mutex_);
    newest_ = std::max(newest_, closure.id);
  }
  closures_->send(request);
}

ClosureResult RemoteWorker::finish() {
  saying_who_is_gone([this] {
    reply_.head.flags = 0;
    try {
      closures_->receive(reply_);
    } catch (const rpc::RpcError&) {
      throw;
    } catch (const Error& error) {
      if (!(reply_.head.flags & kLeaving)) throw;
      throw rpc::RpcError(ErrorCode::Unavailable, cluster_->worker(index_), reply_.head.incarnation, Method::RunClosure,
                          {}, std::string("the worker is being stopped: ") + error.what());
    }
  });
  proto::ClosureResultProto from;
  read_metadata(task(), reply_, from);
  if (from.accumulated() < 0 || static_cast<std::size_t>(from.accumulated()) > reply_.parts.size()) {
    throw Error(ErrorCode::DataLoss, task(), "a result must bring the sums it counts",
                {{"sums", from.accumulated()}, {"parts", reply_.parts.size()}});
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
  Head head{.job = cluster_->job()};
  {
    std::lock_guard lock(mutex_);
    connection = cancel_connection_;
    head.closure = newest_;
  }
  if (!connection) return;
  try {
    call<Method::Cancel>(*connection->open(), head);
  } catch (const std::exception& error) {
    log::warn(task() + ": could not be told to stop: " + error.what());
  }
}

}  // namespace cohort::distribute
