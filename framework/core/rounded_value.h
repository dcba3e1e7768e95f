#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "cohort/core/tensor.h"

namespace cohort {

// A value in a half type, beside the one it was rounded from.
class RoundedCopy {
 public:
  // Its memory on a device, made on first use.
  void* memory(const TensorSpec& spec, Device& device);
  // After how many writes the value was as this copy is; 0: never.
  std::uint64_t follows() const { return follows_.load(std::memory_order_relaxed); }
  // Says that work has been begun, or is to be begun now, which leaves the copy as the value after so many writes.
  void follow(std::uint64_t writes) { follows_.store(writes, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> follows_ = 0;
  std::atomic<Device*> device_ = nullptr;  // set when the memory is there
  std::mutex mutex_;
  Tensor tensor_;
};

// A float32 value that graphs may keep rounded as well: one that reads it rounded and writes both at once need not
// round it in every run. Writes are counted, so that it shows which copies others have left behind.
class RoundedValue {
 public:
  virtual ~RoundedValue() = default;

  // The copy in a half type, wherever it is.
  RoundedCopy& rounded(DType half) { return copies_[half == DType::BFloat16 ? 1 : 0]; }
  // How often it was written, or is about to be.
  std::uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }

 protected:
  // To be called before every write.
  void count_write() { writes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> writes_ = 1;
  std::array<RoundedCopy, 2> copies_;  // in float16 and in bfloat16
};

}  // namespace cohort
