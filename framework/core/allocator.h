#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

namespace cohort {

// Keeps freed blocks by size class and hands them out again, so that a steady state asks the system for nothing.
// Thread-safe.
class MemoryPool {
 public:
  using Source = void* (*)(std::size_t bytes);

  explicit MemoryPool(Source source) : source_(source) {}
  void* allocate(std::size_t bytes);
  // Never asks for memory itself.
  void deallocate(void* memory, std::size_t bytes) noexcept;
  // Bytes a request of this size really takes: classes are four steps per power of two.
  static std::size_t class_size(std::size_t bytes);

 private:
  static int class_index(std::size_t bytes);
  struct FreeBlocks {
    std::mutex mutex;
    std::vector<void*> blocks;
    std::size_t made = 0;  // blocks of this class there are; `blocks` has room for all of them
  };
  static constexpr int kClasses = 4 * 64;
  Source source_;
  std::array<FreeBlocks, kClasses> free_;
};

}  // namespace cohort
