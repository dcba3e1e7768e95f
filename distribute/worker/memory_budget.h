#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/tensor.h"

namespace cohort::distribute {

// Bytes that variables may take: those of a job, which are part of those of all jobs on a task. Thread-safe.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  // At most `limit` bytes, as the option of that name says; 0: any number. Those of `whole` hold, too.
  explicit MemoryBudget(std::uint64_t limit, const char* option = "memory_limit",
                        std::shared_ptr<MemoryBudget> whole = nullptr)
      : limit_(limit), option_(option), whole_(std::move(whole)) {}

  // Counted until what it returns is gone. Throws ResourceExhausted, naming the variable, beyond a limit or, where
  // `on_host` says that it lies there, beyond what the machine has left.
  std::shared_ptr<void> reserve(const std::string& variable, std::uint64_t bytes, bool on_host = true);
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  void take(const std::string& variable, std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  const std::uint64_t limit_;
  const char* const option_;
  const std::shared_ptr<MemoryBudget> whole_;
  std::atomic<std::uint64_t> used_{0};
};

// What is thrown where the machine has no memory for a variable.
Error no_memory_for(const std::string& variable, std::uint64_t bytes);

// What the value of a variable takes; throws where no number holds that.
std::uint64_t bytes_of_variable(const std::string& name, const TensorSpec& spec);

}  // namespace cohort::distribute
