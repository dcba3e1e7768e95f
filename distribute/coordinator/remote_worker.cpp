#include "cohort/distribute/coordinator/remote_worker.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/function_registration.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

constexpr std::uint64_t kLongestClosure = 365ull * 24 * 3600 * 1'000'000'000;

proto::ClosureProto describe_closure(const Closure& closure, const std::optional<std::uint64_t>& max_staleness) {
  proto::ClosureProto metadata;
  metadata.set_steps(closure.steps);
  metadata.set_seed(closure.random.seed);
  metadata.set_epoch(closure.random.epoch);
  metadata.set_step(closure.random.step);
  for (const Lease& lease : closure.leases) write_lease(lease, *metadata.add_leases());
  metadata.mutable_versions()->Add(closure.versions.begin(), closure.versions.end());
  if (max_staleness) metadata.set_max_staleness(*max_staleness);
  return metadata;
}

// An answer that old says nothing of the worker any more.
constexpr std::chrono::milliseconds kJustNow{5};

// Says so while it lives.
class WaitingFor {
 public:
  explicit WaitingFor(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~WaitingFor() { flag_ = false; }
  WaitingFor(const WaitingFor&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

RemoteWorker::RemoteWorker(std::shared_ptr<TaskConnections> connections,
                           std::shared_ptr<const PipelineDatasets> datasets, int index)
    : connections_(std::move(connections)),
      datasets_(std::move(datasets)),
      index_(index),
      task_(connections_->worker(index).task),
      present_(connections_->presence_of(index)),
      releases_(connections_->releases()->worker(static_cast<std::size_t>(index))) {}

// Of the error being handled: what did not come through means that the worker is gone, and so does Unavailable from a
// process that has taken its place.
void RemoteWorker::rethrow_as_lost_worker() {
  try {
    throw;
  } catch (const rpc::RpcError& error) {
    std::lock_guard lock(mutex_);
    if (!abandoned_.empty()) throw Error(ErrorCode::Unavailable, abandoned_);
    if (error.code() == ErrorCode::Cancelled) throw;
    throw Error(ErrorCode::Unavailable, error.what());
  }
}

// Where the chief reaches the ps it is the worker that is lost, until it can, too.
void RemoteWorker::cut_off_from(int ps, const Error& why) {
  if (ps < 0 || ps >= connections_->num_ps()) {
    throw Error(ErrorCode::DataLoss, task(), "an error must name a ps of the job", {{"ps", ps}});
  }
  cut_off_ps_ = ps;
  connections_->check_ps(ps);
  throw Error(ErrorCode::Unavailable, task() + " cannot reach ps:" + std::to_string(ps) + ": " + why.what());
}

Head RemoteWorker::head() const { return {.job = connections_->job(), .epoch = connections_->epoch()}; }

// It may be another process by now, which knows nothing, or the same one, which knows more than it will be asked for.
// What it was doing has ended, and what is noted for it goes with the rest.
void RemoteWorker::forget_all(rpc::RepeatingStream& calls) {
  constants_.clear();
  functions_.clear();
  pipelines_.clear();
  connections_->releases()->take(releases_);
  proto::ReleaseProto everything;
  everything.set_generation(connections_->next_number());
  call<Method::Release>(calls, head(), everything);
}

bool RemoteWorker::reconnect() {
  in_flight_ = 0;
  incarnation_ = 0;
  {
    std::lock_guard lock(mutex_);
    closures_.reset();
    calls_.reset();
    abandoned_.clear();
    cancel_connection_.reset();
  }
  bool again = false;
  try {
    TaskConnections::Greeted greeted = connections_->connect_worker(index_);
    again = greeted.again;
    connection_ = std::move(greeted.connection);
    incarnation_ = greeted.incarnation;
    // What it was doing for this chief it is told to end; until then it could only wait with anything new.
    if (call<Method::Progress>(*connection_->open(), head()).head.closure != 0) return false;
    if (cut_off_ps_ >= 0) connections_->check_ps(cut_off_ps_);
    if (cut_off_ps_ >= 0) call<Method::ReachPs>(*connection_->open(), head());
  } catch (const rpc::RpcError&) {
    return false;
  }
  cut_off_ps_ = -1;
  auto calls = std::make_unique<rpc::RepeatingStream>(connection_->open());
  auto closures = std::make_unique<rpc::RepeatingStream>(connection_->open());
  try {
    forget_all(*calls);
  } catch (const rpc::RpcError&) {
    return false;
  }
  if (again) connections_->note_recovery(index_);
  std::lock_guard lock(mutex_);
  calls_ = std::move(calls);
  closures_ = std::move(closures);
  cancel_connection_ = connection_;
  return true;
}

void RemoteWorker::register_function(const PlacedFunction& function) {
  if (functions_.contains(function.handle())) return;
  register_on_worker(function, *calls_, head(), constants_);
  functions_.insert(function.handle());
}

void RemoteWorker::create_pipeline(int dataset, int pipeline) {
  if (pipelines_.contains({dataset, pipeline})) return;
  const std::shared_ptr<const PipelineDescription> description = datasets_->describe(dataset, pipeline);
  proto::CreatePipelineProto metadata;
  metadata.set_dataset(dataset);
  metadata.set_pipeline(pipeline);
  metadata.set_chain(description->chain);
  metadata.set_beginning(description->beginning);
  call_with_constants<Method::CreatePipeline>(*calls_, head(), metadata, description->constants, constants_);
  constants_.note_pipeline(dataset, pipeline, metadata.constants());
  pipelines_.insert({dataset, pipeline});
}

// After what the closure needs is there: constants that it shares with what goes stay.
void RemoteWorker::tell_releases() {
  const Releases releases = connections_->releases()->take(releases_);
  if (releases.empty()) return;
  for (const std::uint64_t function : releases.functions) {
    functions_.erase(function);
    constants_.release_function(function);
  }
  for (const int dataset : releases.datasets) {
    pipelines_.erase(pipelines_.lower_bound({dataset, 0}), pipelines_.lower_bound({dataset + 1, 0}));
    constants_.release_dataset(dataset);
  }
  call<Method::Release>(*calls_, head(), describe_releases(releases));
}

void RemoteWorker::start(const Closure& closure) {
  if (in_flight_ == 0) began_ = false;
  const WaitingFor waiting(waited_for_);
  const TraceRecording recording(connections_->trace_log(), task().c_str());
  const TimelineSpan span("cluster", "send closure", -1, closure.id);
  try {
    if (!closures_ && !reconnect()) {
      throw rpc::RpcError(ErrorCode::Unavailable, connections_->worker(index_), 0, Method::RunClosure, {},
                          "the worker does not answer");
    }
    // Whether what ends it is the closure, or its function, is only known of a worker that was there just before.
    if (in_flight_ == 0) {
      const bool known = functions_.contains(closure.function->handle());
      const bool just_answered = std::chrono::steady_clock::now() - answered_ < kJustNow;
      if (!known || !just_answered || closure.attempts > 0) call<Method::Progress>(*calls_, head());
      began_ = true;
    }
    register_function(*closure.function);
    for (const Lease& lease : closure.leases) create_pipeline(lease.dataset, lease.pipeline);
    tell_releases();
    Message request;
    for (const Tensor& argument : closure.arguments) request.parts.push_back(argument.to_host());
    Head closure_head = head();
    closure_head.function = closure.function->handle();
    closure_head.closure = closure.id;
    closure_head.all_done_below = closure.all_done_below;
    write_request<Method::RunClosure>(closure_head, describe_closure(closure, connections_->max_staleness()), request);
    closures_->send(request);
    ++in_flight_;
  } catch (const Error&) {
    rethrow_as_lost_worker();
  }
}

ClosureResult RemoteWorker::finish(const Closure& oldest) {
  --in_flight_;
  const WaitingFor waiting(waited_for_);
  const TraceRecording recording(connections_->trace_log(), task().c_str());
  try {
    const TimelineSpan span("wait", "wait for worker");
    reply_.head.flags = 0;
    closures_->receive(reply_);
  } catch (const rpc::RpcError&) {
    rethrow_as_lost_worker();
  } catch (const Error& error) {
    // One that is leaving, cut off from others or without the job is gone for no fault of the closure's.
    began_ = !(reply_.head.flags & kLeaving) && error.code() != ErrorCode::Unavailable &&
             error.code() != ErrorCode::Cancelled;
    if (reply_.head.flags & kCutOff) cut_off_from(static_cast<int>(reply_.head.round), error);
    if (!(reply_.head.flags & kLeaving)) rethrow_as_lost_worker();
    throw rpc::RpcError(ErrorCode::Unavailable, connections_->worker(index_), reply_.head.incarnation,
                        Method::RunClosure, {}, std::string("the worker is being stopped: ") + error.what());
  }
  const TimelineSpan span("cluster", "take result", -1, oldest.id);
  began_ = true;
  answered_ = std::chrono::steady_clock::now();
  ++answers_;
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
  if (from.nanoseconds() > kLongestClosure) {
    throw Error(ErrorCode::DataLoss, task(), "a closure takes less than a year", {{"nanoseconds", from.nanoseconds()}});
  }
  steps_done_ += static_cast<std::uint64_t>(from.steps());
  step_nanoseconds_ += from.nanoseconds();
  ClosureResult result;
  result.steps = from.steps();
  result.data_ended = from.data_ended();
  const auto first_output = reply_.parts.begin() + from.accumulated();
  result.accumulated.assign(reply_.parts.begin(), first_output);
  result.outputs.assign(first_output, reply_.parts.end());
  result.states.assign(from.states().begin(), from.states().end());
  return result;
}

std::optional<std::uint64_t> RemoteWorker::movement() {
  if (!waited_for_) return std::nullopt;
  std::lock_guard lock(mutex_);
  constexpr std::uint64_t kApart = std::uint64_t{1} << 40;  // steps between two results
  return (cancel_connection_ ? cancel_connection_->progress() : 0) + kApart * answers_;
}

void RemoteWorker::abandon(const std::string& why) {
  std::lock_guard lock(mutex_);
  abandoned_ = why;
  if (calls_) calls_->cancel();
  if (closures_) closures_->cancel();
}

void RemoteWorker::cancel() {
  std::shared_ptr<rpc::Connection> connection;
  // By a new epoch, not by the newest closure: one that is sent again keeps its id and is not to end.
  Head cancelled = head();
  cancelled.epoch = connections_->next_epoch();
  {
    std::lock_guard lock(mutex_);
    connection = cancel_connection_;
  }
  // Where the way is broken a fence takes care of what the worker still sends.
  if (!connection || !connection->alive()) return;
  try {
    call<Method::Cancel>(*connection->open(), cancelled);
  } catch (const std::exception& error) {
    log::warn(task() + ": could not be told to stop: " + error.what());
  }
}

}  // namespace cohort::distribute
