#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/worker/task_service.h"

namespace cohort::distribute::test {

// One request that a task has answered.
struct Seen {
  std::string task;  // that answered
  Method method = Method::Echo;
  std::size_t request_bytes = 0, reply_bytes = 0;  // of meta and tensors
  Message request = {};                            // where it was asked for
};

inline std::size_t bytes_of(const Message& message) {
  std::size_t bytes = message.meta.size();
  for (const Tensor& part : message.parts) bytes += part.defined() ? part.bytes() : 0;
  return bytes;
}

// With memory of its own.
inline Message copy_of(const Message& message) {
  Message copy = message;
  for (Tensor& part : copy.parts) {
    if (part.defined()) part = part.clone();
  }
  return copy;
}

// A cluster of tasks in this process that notes every request they get.
class WatchedCluster {
 public:
  explicit WatchedCluster(const std::vector<std::pair<std::string, int>>& jobs, const std::string& transport = "auto")
      : WatchedCluster(jobs, rpc::TransportOptions{.transport = transport}) {}
  // `options`: how its tasks reach one another.
  WatchedCluster(const std::vector<std::pair<std::string, int>>& jobs, const rpc::TransportOptions& options)
      : spec_(local_cluster_spec(jobs)) {
    for (const std::string& job : spec_.jobs()) {
      for (const std::int64_t index : spec_.task_indices(job)) {
        tasks_.push_back(std::make_unique<Task>(*this, job, index, options));
      }
    }
  }
  ~WatchedCluster() {
    for (const auto& task : tasks_) task->service.stop();
  }

  const ClusterSpec& spec() const { return spec_; }
  SimpleClusterResolver resolver() const { return SimpleClusterResolver(spec_); }
  // From now on requests are kept whole, too.
  void keep_requests() { keep_requests_ = true; }
  // What was noted since the last call.
  std::vector<Seen> take_seen() {
    std::lock_guard lock(mutex_);
    return std::exchange(seen_, {});
  }

 private:
  struct Task : rpc::Service {
    Task(WatchedCluster& cluster, const std::string& job, std::int64_t index, const rpc::TransportOptions& options)
        : cluster(cluster),
          name(job + ":" + std::to_string(index)),
          service(cluster.spec_, job, index, options),
          listener(cluster.spec_.task_address(job, index), *this, name) {}
    void handle(const Message& request, Message& reply) override {
      service.handle(request, reply);
      Seen seen{name, request.head.method, bytes_of(request), bytes_of(reply)};
      if (cluster.keep_requests_) seen.request = copy_of(request);
      std::lock_guard lock(cluster.mutex_);
      cluster.seen_.push_back(std::move(seen));
    }
    bool is_quick(const Message& request) const override { return service.is_quick(request); }
    std::uint64_t progress(std::uint64_t caller) const override { return service.progress(caller); }
    WatchedCluster& cluster;
    const std::string name;
    TaskService service;
    rpc::Listener listener;  // last: nobody calls once it is gone
  };

  const ClusterSpec spec_;
  std::atomic<bool> keep_requests_ = false;
  std::mutex mutex_;  // guards seen_
  std::vector<Seen> seen_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace cohort::distribute::test
