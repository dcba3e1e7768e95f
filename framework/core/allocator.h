#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace cohort {

// Keeps freed blocks by size class and hands them out again, so that a steady state asks the system for nothing. Large
// ones that nobody has asked for in a while go back to the system. Thread-safe.
class MemoryPool {
 public:
  using Source = void* (*)(std::size_t bytes);
  using Sink = void (*)(void* memory, std::size_t bytes);
  // Blocks from this size on are large.
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  // Without a sink all blocks are kept.
  explicit MemoryPool(Source source, Sink sink = nullptr) : source_(source), sink_(sink) {}
  void* allocate(std::size_t bytes);
  // Never asks for memory itself.
  void deallocate(void* memory, std::size_t bytes) noexcept;
  // Gives large blocks back that have been free since the last call.
  void give_back_idle() noexcept;
  // Bytes of the blocks that are handed out; looks at every class of sizes.
  std::size_t bytes_in_use();
  // Bytes a request of this size really takes: classes are four steps per power of two.
  static std::size_t class_size(std::size_t bytes);

 private:
  static constexpr int kClasses = 4 * 64;
  struct FreeBlocks {
    std::mutex mutex;
    std::vector<void*> blocks;
    std::size_t made = 0;  // blocks of this class there are; `blocks` has room for all of them
    std::size_t idle = 0;  // of those in `blocks`: the first ones, free since the last look
  };
  static int class_index(std::size_t bytes);
  static std::size_t size_of_class(int index);
  static bool is_large(int index);
  void* ask_system(std::size_t bytes);
  // Of the large blocks that are free, idle ones or all; none once no more than `kept` bytes are.
  void give_back(bool only_idle, std::size_t kept) noexcept;
  void look_for_idle() noexcept;

  const Source source_;
  const Sink sink_;
  std::array<FreeBlocks, kClasses> free_;
  std::atomic<std::size_t> large_bytes_{0};  // in free blocks
  std::atomic<std::int64_t> last_look_{0};   // in nanoseconds of a steady clock
};

}  // namespace cohort
