#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "tests/support/paths.h"
#include "tests/support/server_process.h"

namespace cohort::test {

// Processes of `cohort server --join`, each time on a free port.
class JoiningWorkers {
 public:
  explicit JoiningWorkers(const distribute::ClusterSpec& spec) : cluster_(spec.as_text()) {}
  std::size_t size() const { return running_.size(); }
  ServerProcess& at(std::size_t place) { return *running_.at(place); }
  // -1: under whichever number is free.
  ServerProcess& add(int index = -1) {
    const std::string log = logs_.file("worker" + std::to_string(++started_));
    running_.push_back(std::make_unique<ServerProcess>("worker", index, cluster_, "127.0.0.1:0", log,
                                                       std::vector<std::string>{"--join"}));
    return *running_.back();
  }
  // Under the lowest number that none of them has: started again it is the same worker.
  void add_numbered() {
    int number = 0;
    while (std::any_of(running_.begin(), running_.end(),
                       [&](const auto& worker) { return worker->task() == "worker:" + std::to_string(number); }))
      ++number;
    add(number);
  }
  void kill_and_restart(std::size_t place) {
    at(place).kill();
    at(place).start();
  }
  void remove(std::size_t place) {
    at(place).ask_to_end();
    EXPECT_TRUE(at(place).ends_well(20)) << at(place).output();
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
  }

 private:
  const TemporaryFolder logs_;
  const std::string cluster_;
  std::vector<std::unique_ptr<ServerProcess>> running_;
  int started_ = 0;
};

}  // namespace cohort::test
