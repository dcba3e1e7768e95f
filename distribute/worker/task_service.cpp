#include "cohort/distribute/worker/task_service.h"

#include <algorithm>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/core/thread_scope.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/worker/closure_runner.h"
#include "cohort/distribute/worker/parameter_server.h"

namespace cohort::distribute {
namespace {

std::string addresses_of(const ClusterSpec& cluster, const std::string& job) {
  const auto address = [&](std::int64_t index) { return cluster.task_address(job, index); };
  return "[" + join(cluster.task_indices(job), address) + "]";
}

}  // namespace

// All that a task holds for one chief.
struct TaskService::Job {
  Job(std::uint64_t id, std::uint64_t incarnation, const rpc::TransportOptions& options)
      : id(id),
        pipelines(constants),
        parameter_server(constants),
        closures(constants, pipelines, id, incarnation, options) {}
  const std::uint64_t id;
  ConstantStore constants;
  Pipelines pipelines;
  ParameterServer parameter_server;
  ClosureRunner closures;
};

TaskService::TaskService(ClusterSpec cluster, std::string job_name, std::int64_t task_index,
                         rpc::TransportOptions options)
    : cluster_(std::move(cluster)),
      job_name_(std::move(job_name)),
      task_index_(task_index),
      options_(std::move(options)),
      incarnation_(new_identity()) {}
TaskService::~TaskService() = default;

void TaskService::wait() {
  std::unique_lock lock(mutex_);
  ended_changed_.wait(lock, [this] { return ended_ || stopped_; });
}

void TaskService::stop() {
  std::shared_ptr<Job> job;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    job = job_;
  }
  if (job) job->closures.cancel_up_to(~std::uint64_t{0});
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
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const proto::JobProto& job : from.cluster()) {
    for (const proto::TaskProto& task : job.tasks()) jobs[job.name()][task.index()] = task.address();
  }
  // Workers may come and go; the servers hold the variables, so everyone must mean the same ones.
  if (cluster_.has_job("ps") && jobs.contains("ps")) {
    const ClusterSpec theirs(std::move(jobs));
    const std::string mine = addresses_of(cluster_, "ps"), other = addresses_of(theirs, "ps");
    if (mine != other) {
      throw failed_precondition(name(), "a caller with the same parameter servers is expected",
                                {{"ps of " + from.from(), other}, {"ps here", mine}},
                                "Give every task the same cluster.");
    }
  }
  take_over(request.head.job);
  reply.head.incarnation = incarnation_;
}

void TaskService::take_over(std::uint64_t id) {
  std::shared_ptr<Job> before;  // let go of without the lock
  std::lock_guard lock(mutex_);
  if (job_ && job_->id == id) return;
  // One that was taken for dead may wake up and look for its tasks.
  if (std::find(jobs_before_.begin(), jobs_before_.end(), id) != jobs_before_.end()) throw taken_over("Hello");
  if (job_) {
    log::info(name() + ": a new chief has come; the job before it ends here.");
    note_before(job_->id);
  }
  before = std::exchange(job_, std::make_shared<Job>(id, incarnation_, options_));
  if (before) before->closures.cancel_up_to(~std::uint64_t{0});
  ended_ = false;
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
    ended_ = true;
  }
  ended_changed_.notify_all();
}

bool TaskService::is_quick(const Message& request) const {
  constexpr std::size_t kFewBytes = std::size_t{64} << 10;
  // An exchange without parts is a pull, whose answer may be large.
  const bool push = request.head.method == Method::Exchange && !request.parts.empty();
  if (!push && request.head.method != Method::Echo) return false;
  std::size_t bytes = request.meta.size();
  for (const Tensor& part : request.parts) bytes += part.defined() ? part.bytes() : 0;
  return bytes <= kFewBytes;
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
    case Method::Exchange:
      return answer(request, reply, job_of(request.head)->parameter_server, &ParameterServer::exchange);
    case Method::RunClosure:
      try {
        return answer(request, reply, job_of(request.head)->closures, &ClosureRunner::run);
      } catch (...) {
        std::lock_guard lock(mutex_);
        if (stopped_) reply.head.flags = kLeaving;
        throw;
      }
    case Method::RunGraph:
      return answer(request, reply, job_of(request.head)->parameter_server, &ParameterServer::run_graph);
    default:
      break;
  }
  // A caller of this process runs this on its own thread, perhaps inside a strategy's scope or a trace.
  const FreshThread fresh;
  const std::shared_ptr<Job> job = job_of(request.head);
  switch (request.head.method) {
    case Method::CreateVariable:
      return answer(request, reply, job->parameter_server, &ParameterServer::create_variable);
    case Method::RegisterServer:
      return answer(request, reply, job->parameter_server, &ParameterServer::register_function);
    case Method::RegisterWorker:
      return answer(request, reply, job->closures, &ClosureRunner::register_function);
    case Method::CreatePipeline:
      return answer(request, reply, job->pipelines, &Pipelines::create);
    case Method::Cancel:
      return answer(request, reply, job->closures, &ClosureRunner::cancel);
    case Method::EndJob:
      return answer(request, reply, *this, &TaskService::end_job);
    default:
      throw unimplemented(name(), "a known method is expected", {{"method", static_cast<int>(request.head.method)}});
  }
}

}  // namespace cohort::distribute
