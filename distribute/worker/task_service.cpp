#include "cohort/distribute/worker/task_service.h"

#include <algorithm>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_scope.h"
#include "cohort/core/thread_share.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/trace_log.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/closure_runner.h"
#include "cohort/distribute/worker/parameter_server.h"
#include "cohort/distribute/worker/task_counters.h"

namespace cohort::distribute {
namespace {

// A closure for which waking a thread would cost more than others lose by waiting for it.
constexpr std::chrono::milliseconds kShort{1};

std::string addresses_of(const ClusterSpec& cluster, const std::string& job) {
  const auto address = [&](std::int64_t index) { return cluster.task_address(job, index); };
  return "[" + join(cluster.task_indices(job), address) + "]";
}

std::vector<std::string> ps_addresses_of(const ClusterSpec& cluster) {
  std::vector<std::string> addresses;
  if (!cluster.has_job(kPs)) return addresses;
  for (const std::int64_t index : cluster.task_indices(kPs)) addresses.push_back(cluster.task_address(kPs, index));
  return addresses;
}

}  // namespace

// All that a task holds for one chief.
struct TaskService::Job {
  Job(std::uint64_t id, const proto::HelloProto& hello, std::uint64_t incarnation, const ClusterSpec& cluster,
      const PsLinkOptions& options, const TaskLimits& limits, const std::vector<Device*>& devices)
      : id(id),
        name(hello.led_job()),
        key(hello.job_key()),
        pipelines(constants, limits.data_roots),
        parameter_server(constants, limits.memory_limit),
        closures(constants, pipelines, ps_addresses_of(cluster), id, incarnation, options, devices, limits.threads) {}
  const std::uint64_t id;
  const std::string name, key;
  ConstantStore constants;
  Pipelines pipelines;
  ParameterServer parameter_server;
  ClosureRunner closures;
  RequestCounters requests;
  TraceLog trace_log;
  std::atomic<std::uint64_t> recoveries{0};
  std::mutex release_mutex;        // guards what follows
  std::uint64_t generation = 0;    // of what the chief has told this task
  std::uint64_t last_release = 0;  // of those that are counted
};

TaskService::TaskService(ClusterSpec cluster, std::string job_name, std::int64_t task_index,
                         rpc::TransportOptions options, TaskLimits limits)
    : cluster_(std::move(cluster)),
      job_name_(std::move(job_name)),
      task_index_(task_index),
      options_(std::move(options)),
      limits_(std::move(limits)),
      // A ps has no need of them.
      devices_(job_name_ == kWorker ? worker_devices(name(), limits_.devices) : std::vector<Device*>()),
      incarnation_(new_identity()),
      sessions_(cluster_, job_name_, task_index_, incarnation_, options_, {.memory_limit = limits_.memory_limit}) {}
TaskService::~TaskService() = default;

void TaskService::wait() {
  std::unique_lock lock(mutex_);
  while (!ended_ && !stopped_) {
    if (!orphan_since_ || limits_.orphan_timeout.count() == 0) {
      ended_changed_.wait(lock);
      continue;
    }
    const auto until = *orphan_since_ + limits_.orphan_timeout;
    if (std::chrono::steady_clock::now() >= until) {
      log::warn(name() + ": its chief has been gone for orphan_timeout; it ends.");
      return;
    }
    ended_changed_.wait_until(lock, until);
  }
}

void TaskService::stop() {
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    job = job_;
  }
  if (job) job->closures.end();
  sessions_.stop();
  ended_changed_.notify_all();
}

void TaskService::hello(const Request<Method::Hello>& request, Reply<Method::Hello>& reply) {
  const proto::HelloProto& from = request.metadata;
  if (from.protocol() != kProtocolVersion) {
    throw failed_precondition(name(), "a caller that speaks the same protocol is expected",
                              {{"protocol", from.protocol()}, {"expected", kProtocolVersion}},
                              "Run the same version of Cohort everywhere.");
  }
  if (from.job_name() != job_name_ || from.task_index() != task_index_) {
    throw failed_precondition(name(), "a caller that looks for this task is expected",
                              {{"asked for", task_name(from.job_name(), from.task_index())}, {"from", from.from()}},
                              "Give every task the same cluster.");
  }
  if (!limits_.only_job.empty() && from.led_job() != limits_.only_job) {
    throw failed_precondition(name(), "a chief of the job that this task serves is expected",
                              {{"job", from.led_job()}, {"expected", limits_.only_job}, {"from", from.from()}},
                              "Give the strategy the job_name of its tasks, or use a cluster of its own.");
  }
  const ClusterSpec theirs = read_cluster(from);
  // Workers may come and go; the servers hold the variables, so everyone must mean the same ones.
  if (cluster_.has_job("ps") && theirs.has_job("ps")) {
    const std::string mine = addresses_of(cluster_, "ps"), other = addresses_of(theirs, "ps");
    if (mine != other) {
      throw failed_precondition(name(), "a caller with the same parameter servers is expected",
                                {{"ps of " + from.from(), other}, {"ps here", mine}},
                                "Give every task the same cluster.");
    }
  }
  PsLinkOptions options{.transport = options_};
  if (from.dead_after() > 0) options.transport.set_dead_after(std::chrono::milliseconds(from.dead_after()));
  if (from.ps_retry() > 0) options.retry = std::chrono::milliseconds(from.ps_retry());
  take_over(request, options);
  reply.head.incarnation = incarnation_;
  reply.metadata.set_devices(static_cast<std::int32_t>(devices_.size()));
}

// A chief whose way here holds is not pushed aside by a program that was started by mistake. One that was just killed
// is gone in a moment.
void TaskService::wait_for_place(std::unique_lock<std::mutex>& lock, const proto::HelloProto& hello) {
  constexpr std::chrono::milliseconds kMoment{1500};
  const auto is_led = [this] { return job_ && callers_.contains(job_->id); };
  if (!is_led() || hello.take_over()) return;
  if (!job_->key.empty() && job_->key == hello.job_key() && job_->name == hello.led_job()) return;
  if (ended_changed_.wait_for(lock, kMoment, [&] { return !is_led() || stopped_; })) return;
  throw failed_precondition(name(), "a task that no chief leads is expected",
                            {{"led as", job_->name}, {"asked for by", hello.led_job()}},
                            "Another program uses this cluster. If it is to end, say take_over, or show its job key.");
}

void TaskService::take_over(const Request<Method::Hello>& request, const PsLinkOptions& options) {
  const Head& head = request.head;
  const std::uint64_t id = head.job;
  std::shared_ptr<Job> before;  // let go of without the lock
  std::unique_lock lock(mutex_);
  // One that was taken for dead may wake up and look for its tasks.
  if (std::find(jobs_before_.begin(), jobs_before_.end(), id) != jobs_before_.end()) throw taken_over("Hello");
  if (!job_ || job_->id != id) wait_for_place(lock, request.metadata);
  // The chief that has lost sight of this task has given its closures to others.
  if (job_ && job_->id == id) {
    job_->recoveries = request.metadata.recoveries();
    return job_->closures.begin_epoch(head.epoch);
  }
  if (job_) {
    log::info(name() + ": a new chief has come; the job before it ends here.");
    note_before(job_->id);
  }
  before = std::exchange(
      job_, std::make_shared<Job>(id, request.metadata, incarnation_, cluster_, options, limits_, devices_));
  if (before) before->closures.end();
  job_->recoveries = request.metadata.recoveries();
  job_->closures.begin_epoch(head.epoch);
  ended_ = false;
  orphan_since_.reset();
}

void TaskService::caller_came(std::uint64_t caller) {
  sessions_.caller_came(caller);
  std::lock_guard lock(mutex_);
  ++callers_[caller];
  if (job_ && job_->id == caller) orphan_since_.reset();
}

void TaskService::caller_left(std::uint64_t caller) {
  sessions_.caller_left(caller);
  std::lock_guard lock(mutex_);
  const auto found = callers_.find(caller);
  if (found == callers_.end() || --found->second > 0) return;
  callers_.erase(found);
  if (!job_ || job_->id != caller) return;
  job_->closures.end_orphans();
  orphan_since_ = std::chrono::steady_clock::now();
  ended_changed_.notify_all();
}

std::uint64_t TaskService::progress() const {
  std::lock_guard lock(mutex_);
  return job_ ? job_->closures.steps_begun() : 0;
}

void TaskService::note_before(std::uint64_t id) {
  constexpr std::size_t kRemembered = 256;
  jobs_before_.push_back(id);
  if (jobs_before_.size() > kRemembered) jobs_before_.pop_front();
}

Error TaskService::taken_over(std::string_view method) const {
  return Error(ErrorCode::Aborted, name(), "a message of the present job is expected", {{"method", method}},
               "Another chief has taken over this task.");
}

std::shared_ptr<TaskService::Job> TaskService::job_of(const Head& head) {
  std::lock_guard lock(mutex_);
  if (!job_) {
    throw Error(ErrorCode::Unavailable, name(), "a task that takes part in the job is expected",
                {{"method", to_string(head.method)}}, "It was restarted and has lost what it held.");
  }
  if (job_->id != head.job) throw taken_over(to_string(head.method));
  return job_;
}

void TaskService::end_job(const Request<Method::EndJob>& request, Reply<Method::EndJob>&) {
  const std::shared_ptr<Job> job = job_of(request.head);  // let go of without the lock
  {
    std::lock_guard lock(mutex_);
    if (job_ != job) return;  // a new chief was faster
    note_before(job->id);
    job_.reset();
    orphan_since_.reset();
    ended_ = true;
  }
  job->closures.end();
  ended_changed_.notify_all();
}

// What a chief must know of a closure's error beside its text.
void TaskService::note_reason(const std::exception& error, Head& reply) {
  std::lock_guard lock(mutex_);
  if (stopped_) {
    reply.flags = kLeaving;
  } else if (const auto* cut_off = dynamic_cast<const CutOffFromPs*>(&error)) {
    reply.flags = kCutOff;
    reply.round = static_cast<std::uint32_t>(cut_off->ps());
  }
}

void TaskService::release(const Request<Method::Release>& request, Reply<Method::Release>&) {
  const std::shared_ptr<Job> job = job_of(request.head);
  // A repeat is answered when the first one is done: what is told after the answer must not go with it.
  std::lock_guard lock(job->release_mutex);
  if (request.head.closure > 0 && request.head.closure <= job->last_release) return;
  job->last_release = std::max(job->last_release, request.head.closure);
  if (request.metadata.generation() > job->generation) {
    job->generation = request.metadata.generation();
    job->pipelines.release_all();
    job->closures.release_all();
  }
  job->pipelines.release(request.metadata);
  job->closures.release(request.metadata);
  job->parameter_server.release(request.metadata);
}

void TaskService::trace(const Request<Method::Trace>& request, Reply<Method::Trace>& reply) {
  const std::shared_ptr<Job> job = job_of(request.head);
  if (request.metadata.begin()) return job->trace_log.begin();
  write_trace(job->trace_log.end(name()), reply.metadata);
}

void TaskService::status(const Request<Method::Status>&, Reply<Method::Status>& reply) {
  proto::TaskStatusProto& status = reply.metadata;
  const auto now = std::chrono::steady_clock::now();
  status.set_job_name(job_name_);
  status.set_task_index(task_index_);
  status.set_incarnation(incarnation_);
  status.set_clock(static_cast<std::uint64_t>(std::chrono::nanoseconds(now.time_since_epoch()).count()));
  status.set_uptime(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now - began_).count()));
  write_cluster(cluster_, status);
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(mutex_);
    job = job_;
    status.set_led(job && callers_.contains(job->id));
  }
  if (!job) return;
  status.set_led_job(job->name);
  status.set_recoveries(job->recoveries);
  const std::uint64_t ended = job->requests.ended.get(), begun = job->requests.begun.get();
  status.set_requests(begun);
  status.set_in_hand(begun - std::min(begun, ended));
  status.set_bytes_received(job->requests.bytes_received.get());
  status.set_bytes_sent(job->requests.bytes_sent.get());
  job->closures.describe(status);
  job->parameter_server.describe(status);
}

void TaskService::check_caller(const TaskIdentity& caller, const Message& request) const {
  if (caller.job != kWorker && caller.job != kPs && caller.job != kEvaluator) return;
  if (caller.job != kEvaluator && SessionService::is_for_masters(request.head.method)) return;
  switch (request.head.method) {
    case Method::Echo:
    case Method::Exchange:
    case Method::Progress:
    case Method::Status:
      return;
    default:
      throw Error(ErrorCode::PermissionDenied, name(), "a caller that may lead a job is expected",
                  {{"caller", task_name(caller.job, caller.index)}, {"method", to_string(request.head.method)}},
                  "Give the chief a certificate of its own.");
  }
}

bool TaskService::is_quick(const Message& request) const {
  if (request.head.method == Method::RunClosure) return closures_are_short_.load(std::memory_order_relaxed);
  constexpr std::size_t kFewBytes = std::size_t{64} << 10;
  // An exchange without parts is a pull, whose answer may be large.
  const bool push = request.head.method == Method::Exchange && !request.parts.empty();
  if (!push && request.head.method != Method::Echo) return false;
  return payload_bytes(request) <= kFewBytes;
}

void TaskService::handle(const Message& request, Message& reply) {
  reply.head = request.head;
  reply.head.flags = 0;
  reply.head.incarnation = incarnation_;
  reply.parts.clear();
  switch (request.head.method) {
    case Method::Hello:
      return answer(request, reply, *this, &TaskService::hello);
    case Method::Echo:
      reply.meta = request.meta;
      reply.parts = request.parts;
      return;
    case Method::Status:
      return answer(request, reply, *this, &TaskService::status);
    default:
      break;
  }
  if (SessionService::handles(request.head.method)) {
    const ThreadShare share(limits_.threads);
    return sessions_.handle(request, reply);
  }
  const std::shared_ptr<Job> job = job_of(request.head);
  const RequestInHand in_hand(job->requests, request, reply);
  const TraceRecording recording(job->trace_log);
  const ThreadShare share(limits_.threads);
  switch (request.head.method) {
    case Method::Exchange:
      return answer(request, reply, job->parameter_server, &ParameterServer::exchange);
    case Method::RunClosure:
      try {
        const auto begin = std::chrono::steady_clock::now();
        answer(request, reply, job->closures, &ClosureRunner::run);
        closures_are_short_.store(std::chrono::steady_clock::now() - begin < kShort, std::memory_order_relaxed);
        return;
      } catch (const std::exception& error) {
        note_reason(error, reply.head);
        throw;
      }
    case Method::RunGraph:
      return answer(request, reply, job->parameter_server, &ParameterServer::run_graph);
    case Method::Progress:
      return answer(request, reply, job->closures, &ClosureRunner::progress);
    default:
      break;
  }
  // A caller of this process runs this on its own thread, perhaps inside a strategy's scope or a trace.
  const FreshThread fresh;
  switch (request.head.method) {
    case Method::Fence:
      return answer(request, reply, job->parameter_server, &ParameterServer::fence);
    case Method::CreateVariable:
      return answer(request, reply, job->parameter_server, &ParameterServer::create_variable);
    case Method::RegisterServer:
      return answer(request, reply, job->parameter_server, &ParameterServer::register_function);
    case Method::RegisterWorker:
      return answer(request, reply, job->closures, &ClosureRunner::register_function);
    case Method::ReachPs:
      return answer(request, reply, job->closures, &ClosureRunner::reach_ps);
    case Method::CreatePipeline:
      return answer(request, reply, job->pipelines, &Pipelines::create);
    case Method::Cancel:
      return answer(request, reply, job->closures, &ClosureRunner::cancel);
    case Method::EndJob:
      return answer(request, reply, *this, &TaskService::end_job);
    case Method::Release:
      return answer(request, reply, *this, &TaskService::release);
    case Method::Trace:
      return answer(request, reply, *this, &TaskService::trace);
    default:
      throw unimplemented(name(), "a known method is expected", {{"method", static_cast<int>(request.head.method)}});
  }
}

}  // namespace cohort::distribute
