#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/distribute/worker/task_service.h"

namespace cohort::distribute::test {

// A task whose replies can be changed before the chief sees them.
class TaskWithChangedReplies : public rpc::Service {
 public:
  using Change = std::function<void(Message& reply)>;

  TaskWithChangedReplies(const ClusterSpec& spec, const std::string& job)
      : task_(spec, job, 0, {}), listener_(spec.task_address(job, 0), *this, job + ":0") {}
  ~TaskWithChangedReplies() override { task_.stop(); }

  void handle(const Message& request, Message& reply) override {
    task_.handle(request, reply);
    std::lock_guard lock(mutex_);
    if (change_ && request.head.method == method_) change_(reply);
  }
  void change(Method method, Change change) {
    std::lock_guard lock(mutex_);
    method_ = method;
    change_ = std::move(change);
  }

 private:
  TaskService task_;
  std::mutex mutex_;  // guards what follows
  Method method_ = Method::Echo;
  Change change_;
  rpc::Listener listener_;  // last: nobody calls once it is gone
};

// A chief with such a worker and such a ps.
class ChangedReplies : public testing::Test {
 protected:
  const ClusterSpec spec_ = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  TaskWithChangedReplies worker_{spec_, "worker"}, ps_{spec_, "ps"};
  ParameterServerStrategy strategy_{SimpleClusterResolver(spec_)};
};

}  // namespace cohort::distribute::test
