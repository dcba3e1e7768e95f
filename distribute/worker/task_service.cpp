#include "cohort/distribute/worker/task_service.h"

#include <algorithm>
#include <utility>

#include "cohort/core/text.h"
#include "cohort/core/thread_scope.h"
#include "cohort/core/thread_share.h"
#include "cohort/distribute/cluster/job_name.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/held_job.h"

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
      memory_(std::make_shared<MemoryBudget>(limits_.total_memory_limit, "total_memory_limit")),
      members_(cluster_, job_name_, task_index_),
      jobs_(name(), limits_),
      sessions_(cluster_, job_name_, task_index_, incarnation_, options_,
                {.memory = std::make_shared<MemoryBudget>(limits_.memory_limit, "memory_limit", memory_)}) {}
TaskService::~TaskService() = default;

void TaskService::stop() {
  members_.stop();
  jobs_.stop();
  sessions_.stop();
}

void TaskService::caller_came(std::uint64_t caller) {
  members_.caller_came(caller);
  sessions_.caller_came(caller);
  jobs_.caller_came(caller);
}

void TaskService::caller_left(std::uint64_t caller) {
  members_.caller_left(caller);
  sessions_.caller_left(caller);
  jobs_.caller_left(caller);
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
  check_job_name(name(), from.led_job());
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
  const HeldJob::Surroundings task{.incarnation = incarnation_,
                                   .ps_addresses = ps_addresses_of(cluster_),
                                   .ps_links = options,
                                   .limits = limits_,
                                   .devices = devices_,
                                   .memory = memory_};
  const std::uint64_t id = request.head.job;
  const auto job = jobs_.greet(id, from, [&] { return std::make_shared<HeldJob>(id, from, task); });
  job->recoveries = from.recoveries();
  // The chief that has lost sight of this task has given its closures to others.
  job->closures.begin_epoch(request.head.epoch);
  reply.head.incarnation = incarnation_;
  reply.metadata.set_devices(static_cast<std::int32_t>(devices_.size()));
}

void TaskService::end_job(const Request<Method::EndJob>& request, Reply<Method::EndJob>&) {
  jobs_.end(jobs_.find(request.head));
}

// What a chief must know of a closure's error beside its text.
void TaskService::note_reason(const std::exception& error, Head& reply) const {
  if (jobs_.is_leaving()) {
    reply.flags = kLeaving;
  } else if (const auto* cut_off = dynamic_cast<const CutOffFromPs*>(&error)) {
    reply.flags = kCutOff;
    reply.round = static_cast<std::uint32_t>(cut_off->ps());
  }
}

void TaskService::release(const Request<Method::Release>& request, Reply<Method::Release>&) {
  jobs_.find(request.head)->release(request);
}

void TaskService::trace(const Request<Method::Trace>& request, Reply<Method::Trace>& reply) {
  const std::shared_ptr<HeldJob> job = jobs_.find(request.head);
  if (request.metadata.begin()) return job->trace_log.begin();
  write_trace(job->trace_log.end(name()), reply.metadata);
}

void TaskService::status(const Request<Method::Status>& request, Reply<Method::Status>& reply) {
  proto::TaskStatusProto& status = reply.metadata;
  const auto now = std::chrono::steady_clock::now();
  status.set_job_name(job_name_);
  status.set_task_index(task_index_);
  status.set_incarnation(incarnation_);
  status.set_clock(static_cast<std::uint64_t>(std::chrono::nanoseconds(now.time_since_epoch()).count()));
  status.set_uptime(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now - began_).count()));
  write_cluster(cluster_, status);
  for (const auto& [index, address] : members_.addresses()) {
    proto::TaskProto& member = *status.add_members();
    member.set_index(index);
    member.set_address(address);
  }
  const std::vector<HeldJobs::Listed> all = jobs_.all();
  if (all.empty()) return;
  for (const auto& [job, led] : all) {
    job->describe(*status.add_jobs());
    status.mutable_jobs()->rbegin()->set_led(led);
  }
  // Who leads one asks for that; to others it is the one that came last.
  const auto own =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.job->id == request.head.job; });
  const proto::TaskStatusProto shown = status.jobs(static_cast<int>((own == all.end() ? own - 1 : own) - all.begin()));
  status.MergeFrom(shown);
}

void TaskService::check_caller(const TaskIdentity& caller, const Message& request) const {
  members_.check_caller(caller, request);
  if (caller.job != kWorker && caller.job != kPs && caller.job != kEvaluator) return;
  if (caller.job != kEvaluator && SessionService::is_for_masters(request.head.method)) return;
  switch (request.head.method) {
    case Method::Echo:
    case Method::Exchange:
    case Method::Progress:
    case Method::Status:
    case Method::Join:
    case Method::Leave:
    case Method::Members:
      return;
    default:
      throw Error(ErrorCode::PermissionDenied, name(), "a caller that may lead a job is expected",
                  {{"caller", task_name(caller.job, caller.index)}, {"method", to_string(request.head.method)}},
                  "Give the chief a certificate of its own.");
  }
}

bool TaskService::is_quick(const Message& request) const {
  if (request.head.method == Method::RunClosure) return short_closures_.has(request.head.job);
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
    case Method::Join:
      return answer(request, reply, members_, &MemberBook::join);
    case Method::Leave:
      return answer(request, reply, members_, &MemberBook::leave);
    case Method::Members:
      return answer(request, reply, members_, &MemberBook::members);
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
  const std::shared_ptr<HeldJob> job = jobs_.find(request.head);
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
        short_closures_.note(job->id, std::chrono::steady_clock::now() - begin < kShort);
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
