#include "cohort/distribute/replica_device_setter.h"

#include <gtest/gtest.h>

namespace cohort::distribute {
namespace {

std::string device_of_variable(const Shape& shape = {}) {
  return device_for({.op = "Variable", .shape = shape}).to_string();
}

TEST(ReplicaDeviceSetter, GivesVariablesToOneTaskAfterTheOther) {
  auto scope = device(replica_device_setter({.ps_tasks = 2}));
  for (const char* expected : {"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0", "/job:ps/task:1"}) {
    EXPECT_EQ(device_of_variable(), expected);
  }
}

TEST(ReplicaDeviceSetter, PutsTheRestOnWorkersUnlessScopesInsideSayOtherwise) {
  auto scope = device(replica_device_setter({.ps_tasks = 2}));
  EXPECT_EQ(device_for({.op = "Add"}).to_string(), "/job:worker");
  auto gpu = device("/gpu:1");
  EXPECT_EQ(device_for({.op = "Multiply"}).to_string(), "/job:worker/device:GPU:1");
  auto task = device("/task:1");
  EXPECT_EQ(device_for({.op = "Multiply"}).to_string(), "/job:worker/task:1/device:GPU:1");
}

TEST(ReplicaDeviceSetter, AVariableOfAnotherJobIsNotCounted) {
  auto scope = device(replica_device_setter({.ps_tasks = 2, .worker_device = "/job:worker/task:3"}));
  {
    auto inner = device("/job:worker");
    EXPECT_EQ(device_of_variable(), "/job:worker");
  }
  EXPECT_EQ(device_of_variable(), "/job:ps/task:0");
  auto inner = device("/task:5");
  EXPECT_EQ(device_of_variable(), "/job:ps/task:5");
  EXPECT_EQ(device_for({.op = "Add"}).to_string(), "/job:worker/task:5");
}

TEST(ReplicaDeviceSetter, CountsTheTasksOfACluster) {
  const ClusterSpec cluster({{"params", {"a:1", "a:2", "a:3"}}, {"worker", {"a:4"}}});
  auto scope = device(replica_device_setter({.ps_device = "/job:params", .cluster = cluster}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(device_of_variable(), "/job:params/task:" + std::to_string(i));
  EXPECT_EQ(device_of_variable(), "/job:params/task:0");
  EXPECT_FALSE(replica_device_setter({.cluster = cluster}));  // it has no job ps
  EXPECT_FALSE(replica_device_setter({}));
}

TEST(ReplicaDeviceSetter, BalancesBytes) {
  auto scope = device(replica_device_setter({.ps_tasks = 2, .ps_strategy = byte_balanced(2)}));
  EXPECT_EQ(device_of_variable({1000}), "/job:ps/task:0");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(device_of_variable({200}), "/job:ps/task:1");
  EXPECT_EQ(device_of_variable({300}), "/job:ps/task:1");  // 800 are fewer than 1000
  EXPECT_EQ(device_of_variable({1}), "/job:ps/task:0");
}

}  // namespace
}  // namespace cohort::distribute
