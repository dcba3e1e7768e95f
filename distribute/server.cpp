#include "cohort/distribute/server.h"

#include <algorithm>
#include <filesystem>

#include "cohort/core/cpu_count.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/job_name.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/cluster/transport_choice.h"
#include "cohort/distribute/rpc/transport.h"
#include "cohort/distribute/stop_on_signal.h"
#include "cohort/distribute/worker/membership.h"
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

constexpr std::chrono::milliseconds kLongestReservation{60'000};
// Of a worker that ends what it has begun. Many who stop a process give it ten seconds.
constexpr std::chrono::milliseconds kLongestFarewell{8'000}, kForLastAnswers{1'000};

// The task a server is, and how it joins where it does.
struct JoiningTask {
  std::string job;
  std::int64_t index = 0;
  std::unique_ptr<Membership> membership = nullptr;
};

rpc::Peer first_ps_of(const ClusterSpec& cluster) {
  if (!cluster.has_job(kPs)) {
    throw invalid_argument("Server", "a cluster with a ps is expected, where the worker joins", {{"cluster", cluster}});
  }
  const std::int64_t index = cluster.task_indices(kPs).front();
  return {task_name(kPs, index), cluster.task_address(kPs, index)};
}

JoiningTask task_that_joins(const ClusterSpec& cluster, const ServerOptions& options) {
  const auto [job, index] = task_of(cluster, options);
  if (!options.join) return {.job = job, .index = index};
  if (job != kWorker || index < -1) {
    throw invalid_argument("Server", "only a worker joins, with an index of 0 or more, or -1",
                           {{"job", job}, {"task_index", index}});
  }
  JoiningTask joining{.job = job, .index = index};
  // A certificate says the index. Who has but a secret is who it says, and the keeper numbers it.
  auto security = make_security(options.security, index < 0 ? job : task_name(job, index));
  if (index < 0 && security && security->kind == Security::Kind::Certificates) {
    joining.index = security->own.index;
  } else if (index < 0) {
    security = make_security(options.security, task_name(job, 0));
  }
  joining.membership = std::make_unique<Membership>(
      first_ps_of(cluster), rpc::TransportOptions{.transport = options.transport, .security = std::move(security)});
  if (joining.index < 0) joining.index = joining.membership->reserve_index(kLongestReservation);
  return joining;
}

std::string address_of(const ClusterSpec& cluster, const ServerOptions& options, const JoiningTask& task) {
  if (!options.address.empty()) return options.address;
  if (options.join && !cluster.has_task(task.job, task.index)) return "127.0.0.1:0";
  return cluster.task_address(task.job, task.index);
}

// Workers of one host compute at once, each for itself; a ps has the cores of the one that waits for it.
int threads_of(const ClusterSpec& cluster, const ServerOptions& options, const JoiningTask& task) {
  if (options.threads) return *options.threads;
  if (!cluster.has_task(task.job, task.index) || !cluster.has_job(kWorker)) return 0;
  const std::string host = host_of(cluster.task_address(task.job, task.index));
  const std::vector<std::int64_t> workers = cluster.task_indices(kWorker);
  const auto is_here = [&](std::int64_t index) { return host_of(cluster.task_address(kWorker, index)) == host; };
  const auto here = std::count_if(workers.begin(), workers.end(), is_here);
  return here > 1 ? usable_cpus_of_each(static_cast<int>(here)) : 0;
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
  Body(const ClusterSpec& cluster, const ServerOptions& options, JoiningTask task)
      : name(task_name(task.job, task.index)),
        index(task.index),
        address(address_of(cluster, options, task)),
        advertised(options.advertised_address),
        security(make_security(options.security, name)),
        membership(std::move(task.membership)),
        service(
            cluster, task.job, task.index, {.transport = options.transport, .security = security},
            {.only_job = job_name_or_environment(options.only_job),
             .max_jobs = options.max_jobs,
             .memory_limit = static_cast<std::uint64_t>(options.memory_limit),
             .total_memory_limit = static_cast<std::uint64_t>(options.total_memory_limit),
             .threads = threads_of(cluster, options, task),
             .orphan_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.orphan_timeout * 1000.0)),
             .stay = options.stay,
             .data_roots = readable(options),
             .devices = options.devices}) {
    transport = options.transport;
    limits.shares_memory = may_share_memory(options.transport);
    if (options.transport == "grpc") limits.carried_streams = 0;
  }

  void start() {
    std::lock_guard lock(mutex);
    if (listener) return;
    listener = std::make_unique<rpc::Listener>(address, service, name, limits, security.get());
    if (!membership) return;
    membership->announce(index, advertised.empty() ? listener->address() : advertised,
                         {.transport = transport, .security = security});
  }

  // Ends what has begun, and takes on nothing new.
  void leave() {
    // Chiefs look for nothing here any more.
    if (membership) membership->leave();
    const auto now = std::chrono::steady_clock::now();
    if (!service.leave(now + kLongestFarewell)) return;
    std::lock_guard lock(mutex);
    if (listener) listener->await_answers(std::chrono::steady_clock::now() + kForLastAnswers);
  }

  const std::string name;
  const std::int64_t index;
  const std::string address, advertised;
  const std::shared_ptr<const Security> security;
  const std::unique_ptr<Membership> membership;
  TaskService service;
  rpc::ServingLimits limits;
  std::string transport;
  std::mutex mutex;
  std::unique_ptr<rpc::Listener> listener;  // guarded by the mutex
};

Server::Server(const ClusterSpec& cluster, ServerOptions options) {
  if (options.protocol != "grpc") {
    throw invalid_argument("Server", "the protocol 'grpc' is expected", {{"protocol", options.protocol}});
  }
  check_transport("Server", options.transport);
  if (options.max_jobs < 1) {
    throw invalid_argument("Server", "room for a job is expected", {{"max_jobs", options.max_jobs}});
  }
  if (options.memory_limit < 0 || options.total_memory_limit < 0) {
    throw invalid_argument(
        "Server", "limits on memory of 0 or more are expected",
        {{"memory_limit", options.memory_limit}, {"total_memory_limit", options.total_memory_limit}});
  }
  if (options.threads.value_or(0) < 0) {
    throw invalid_argument("Server", "0 threads or more are expected", {{"threads", *options.threads}});
  }
  if (!(options.orphan_timeout >= 0.0 && options.orphan_timeout <= 1e9)) {
    throw invalid_argument("Server", "an orphan_timeout of 0 to 1e9 seconds is expected",
                           {{"orphan_timeout", options.orphan_timeout}});
  }
  if (!options.join && !options.advertised_address.empty()) {
    throw invalid_argument("Server", "an advertised_address belongs to a worker that joins",
                           {{"advertised_address", options.advertised_address}}, "Others know it by the cluster.");
  }
  body_ = std::make_unique<Body>(cluster, options, task_that_joins(cluster, options));
  if (options.start) start();
}

Server::Server(const ClusterResolver& resolver, ServerOptions options)
    : Server(resolver.cluster_spec(), named(resolver, std::move(options))) {}

Server::~Server() { stop(); }

std::unique_ptr<Server> Server::create_local_server() {
  return std::make_unique<Server>(ClusterSpec({{"local", {"127.0.0.1:0"}}}));
}

void Server::start() { body_->start(); }

int Server::join() {
  const StopOnSignal signals([this] { stop(); });
  start();
  body_->service.wait();
  stop();
  return 0;
}

void Server::stop() {
  body_->leave();
  body_->service.stop();
  std::lock_guard lock(body_->mutex);
  if (body_->listener) body_->listener->stop();
}

std::string Server::target() const {
  std::lock_guard lock(body_->mutex);
  return "grpc://" + (body_->listener ? body_->listener->address() : body_->address);
}

}  // namespace cohort::distribute
