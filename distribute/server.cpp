#include "cohort/distribute/server.h"

#include <filesystem>

#include "cohort/distribute/cluster/job_name.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/rpc/transport.h"
#include "cohort/distribute/stop_on_signal.h"
#include "cohort/distribute/worker/task_service.h"
#include "cohort/files/data_root.h"

namespace cohort::distribute {
namespace {

// The task a server is: named, or the only one there is.
std::pair<std::string, std::int64_t> task_of(const ClusterSpec& cluster, const ServerOptions& options) {
  std::string job = options.job_name;
  if (job.empty()) {
    if (cluster.jobs().size() != 1) {
      throw invalid_argument("Server", "the job's name is expected in a cluster of several jobs",
                             {{"jobs", cluster.jobs().size()}}, "Give job_name.");
    }
    job = cluster.jobs().front();
  }
  if (options.task_index) return {job, *options.task_index};
  const std::vector<std::int64_t> indices = cluster.task_indices(job);
  if (indices.size() != 1) {
    throw invalid_argument("Server", "the task's index is expected in a job of several tasks",
                           {{"job", job}, {"tasks", indices.size()}}, "Give task_index.");
  }
  return {job, indices.front()};
}

ServerOptions named(const ClusterResolver& resolver, ServerOptions options) {
  if (options.job_name.empty()) {
    options.job_name = resolver.task_type();
    if (!options.task_index) options.task_index = resolver.task_id();
  }
  return options;
}

constexpr const char* kSystemData = "/usr/share/datasets";

constexpr const char* kHowToRead = "Give its folder by --data-root (cohort server) or ServerOptions::data_roots.";

// Files are named by whoever leads the job.
std::shared_ptr<const DataRoots> readable(const ServerOptions& options) {
  std::vector<std::string> folders{"."};
  if (std::filesystem::is_directory(kSystemData)) folders.emplace_back(kSystemData);
  return make_data_roots(options.data_roots.value_or(folders), kHowToRead);
}

}  // namespace

class Server::Body {
 public:
  Body(const ClusterSpec& cluster, const ServerOptions& options, const std::pair<std::string, std::int64_t>& task)
      : name(task_name(task.first, task.second)),
        address(options.address.empty() ? cluster.task_address(task.first, task.second) : options.address),
        security(make_security(options.security, name)),
        service(
            cluster, task.first, task.second, {.transport = options.transport, .security = security},
            {.only_job = job_name_or_environment(options.only_job),
             .max_jobs = options.max_jobs,
             .memory_limit = static_cast<std::uint64_t>(options.memory_limit),
             .total_memory_limit = static_cast<std::uint64_t>(options.total_memory_limit),
             .threads = options.threads,
             .orphan_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.orphan_timeout * 1000.0)),
             .stay = options.stay,
             .data_roots = readable(options),
             .devices = options.devices}) {
    if (options.transport == "grpc") limits.shared_streams = 0;
  }

  const std::string name;
  const std::string address;
  const std::shared_ptr<const Security> security;
  TaskService service;
  rpc::ServingLimits limits;
  std::mutex mutex;
  std::unique_ptr<rpc::Listener> listener;  // guarded by the mutex
};

Server::Server(const ClusterSpec& cluster, ServerOptions options) {
  if (options.protocol != "grpc") {
    throw invalid_argument("Server", "the protocol 'grpc' is expected", {{"protocol", options.protocol}});
  }
  if (options.transport != "auto" && options.transport != "shm" && options.transport != "grpc") {
    throw invalid_argument("Server", "the transport 'auto', 'shm' or 'grpc' is expected",
                           {{"transport", options.transport}});
  }
  if (options.max_jobs < 1) {
    throw invalid_argument("Server", "room for a job is expected", {{"max_jobs", options.max_jobs}});
  }
  if (options.memory_limit < 0 || options.total_memory_limit < 0) {
    throw invalid_argument(
        "Server", "limits on memory of 0 or more are expected",
        {{"memory_limit", options.memory_limit}, {"total_memory_limit", options.total_memory_limit}});
  }
  if (options.threads < 0) {
    throw invalid_argument("Server", "0 threads or more are expected", {{"threads", options.threads}});
  }
  if (!(options.orphan_timeout >= 0.0 && options.orphan_timeout <= 1e9)) {
    throw invalid_argument("Server", "an orphan_timeout of 0 to 1e9 seconds is expected",
                           {{"orphan_timeout", options.orphan_timeout}});
  }
  body_ = std::make_unique<Body>(cluster, options, task_of(cluster, options));
  if (options.start) start();
}

Server::Server(const ClusterResolver& resolver, ServerOptions options)
    : Server(resolver.cluster_spec(), named(resolver, std::move(options))) {}

Server::~Server() { stop(); }

std::unique_ptr<Server> Server::create_local_server() {
  return std::make_unique<Server>(ClusterSpec({{"local", {"127.0.0.1:0"}}}));
}

void Server::start() {
  std::lock_guard lock(body_->mutex);
  if (body_->listener) return;
  body_->listener = std::make_unique<rpc::Listener>(body_->address, body_->service, body_->name, body_->limits,
                                                    body_->security.get());
}

int Server::join() {
  const StopOnSignal signals([this] { stop(); });
  start();
  body_->service.wait();
  stop();
  return 0;
}

void Server::stop() {
  body_->service.stop();
  std::lock_guard lock(body_->mutex);
  if (body_->listener) body_->listener->stop();
}

std::string Server::target() const {
  std::lock_guard lock(body_->mutex);
  return "grpc://" + (body_->listener ? body_->listener->address() : body_->address);
}

}  // namespace cohort::distribute
