#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_resolver.h"
#include "cohort/distribute/cluster/security_options.h"

namespace cohort::distribute {

// Which task a Server is and how it is reached.
struct ServerOptions {
  // The task's job; empty: as the resolver says, or the cluster's only one.
  std::string job_name = {};
  // The task's number within its job; none: as the resolver says, or the job's only one.
  std::optional<std::int64_t> task_index = std::nullopt;
  // The protocol it serves; "grpc".
  std::string protocol = "grpc";
  // Start at once; false: start() does.
  bool start = true;
  // How this task reaches others: "auto" (in process where it can, else by shared memory where they are on this host,
  // else as "tcp"), "shm" (shared memory), "tcp" (a socket for each stream beside gRPC), "grpc" (that alone). Others
  // reach it from elsewhere by nothing that comes before its own choice.
  std::string transport = "auto";
  // Where it listens when others reach it by another address than that, through a forwarded port.
  std::string address = {};
  // Of a worker: it may come and go while a job runs. It joins at the cluster's first ps, under any index (also one
  // that the cluster does not have; -1: the lowest that is free, or that of its certificate) and at any address (not
  // given, and not in the cluster: a free port of this machine), and leaves when it is stopped. Chiefs whose strategy
  // has workers_may_join find it.
  bool join = false;
  // Where others reach a worker that joins; empty: where it listens.
  std::string advertised_address = {};
  // How it proves who it is and who may call it, beyond addresses of this machine.
  SecurityOptions security = {};
  // The name of the only job it takes part in (a strategy's job_name); empty: COHORT_JOB_NAME of the environment, or
  // else any.
  std::string only_job = {};
  // Jobs that it takes part in at once, each with a name of its own; a further one is refused.
  int max_jobs = 16;
  // Bytes that a job's variables, a worker's copies of them, or what all sessions hold, may take on this task; what
  // there is no room for is refused. 0: as many as the machine has free.
  std::int64_t memory_limit = 0;
  // Likewise, of all jobs and sessions together.
  std::int64_t total_memory_limit = 0;
  // Seconds after which a job ends here when its chief is gone, and the task with the last one; 0: it waits for another
  // chief.
  double orphan_timeout = 600.0;
  // Serve job after job: only stop() or a signal ends it.
  bool stay = false;
  // Threads it computes with for each request of a job (a worker has one at a time), of those that all tasks of this
  // process share; 0: as many as there are. Not given: as many, but where the cluster has several workers at this
  // host, the part of the cores that one of them has.
  std::optional<int> threads = std::nullopt;
  // Folders that datasets which a chief sends may read from: files are opened beneath one of them, relative names in
  // the first; and addresses (https://host/data/) beneath which files may be fetched. "/": no limit at all, neither for
  // files that they read or write (caches) nor for addresses. An empty list: nothing may be read. Not given: the
  // working folder and /usr/share/datasets. What this process reads for itself has no such limit.
  std::optional<std::vector<std::string>> data_roots = std::nullopt;
  // Devices that a worker computes on: each of them with its rows of every batch, in step; {"GPU:0", "GPU:1"}. Not
  // given: all GPUs, or else the CPU. All workers must have as many.
  std::vector<std::string> devices = {};
};

// One task of a cluster: serves graphs to whoever leads a job, and to several jobs side by side. Several may live in
// one process. Thread-safe.
class Server {
 public:
  // The task that the resolver, or the options, say this process is.
  explicit Server(const ClusterResolver& resolver, ServerOptions options = {});
  explicit Server(const ClusterSpec& cluster, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;

  // One task on a free port of this machine.
  static std::unique_ptr<Server> create_local_server();
  // Begins to serve; does nothing when it has begun.
  void start();
  // Waits until the last of its jobs ends (unless it is to stay), stop() is called, or SIGINT or SIGTERM comes, where
  // the program leaves those to their default; the process's exit code.
  int join();
  // Ends serving.
  void stop();
  // Its address: "grpc://host:port".
  std::string target() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute
