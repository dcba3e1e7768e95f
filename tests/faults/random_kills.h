#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "tests/support/started_program.h"

namespace cohort::test {

// Lets a program live that long. False when it ends before; then it must end well.
inline bool outlives(StartedProgram& program, std::chrono::microseconds life) {
  const auto deadline = std::chrono::steady_clock::now() + life;
  while (std::chrono::steady_clock::now() < deadline) {
    if (const std::optional<int> code = program.wait(std::chrono::seconds(0))) {
      EXPECT_EQ(code, 0) << program.output() << program.errors();
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

// Which phases of a program kills have hit; to_string() names a phase.
template <class Phase>
class KillCount {
 public:
  void add(Phase phase) {
    ++total_;
    ++phases_[phase];
  }
  int total() const { return total_; }
  void print() const {
    std::printf("killed %d times:", total_);
    for (const auto& [phase, times] : phases_) std::printf(" %d %s;", times, to_string(phase));
    std::printf("\n");
  }

 private:
  int total_ = 0;
  std::map<Phase, int> phases_;
};

}  // namespace cohort::test
