#pragma once

#include <atomic>
#include <cstdint>

#include "cohort/core/thread_scope.h"

namespace cohort {

// While one lives, random calls of its thread that run at once are numbered from 0 on: a step that begins with one
// draws the same at its place of a run, whatever the process has drawn before. Traces, and what comes outside, do not
// heed it.
class StepDraws {
 public:
  StepDraws() : scope_(&calls_) {}
  StepDraws(const StepDraws&) = delete;
  StepDraws& operator=(const StepDraws&) = delete;

 private:
  friend std::uint64_t next_call(std::atomic<std::uint64_t>& calls);
  friend std::uint64_t next_draw_seed();
  static std::uint64_t* current();

  std::uint64_t calls_ = 0;
  ThreadScope<StepDraws, std::uint64_t*> scope_;
};

// The number of a random call of something that counts its calls: in such a step, the step's.
std::uint64_t next_call(std::atomic<std::uint64_t>& calls);
// A seed for a random call: in such a step by its number, else next_op_seed().
std::uint64_t next_draw_seed();

}  // namespace cohort
