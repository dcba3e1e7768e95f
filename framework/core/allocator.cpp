#include "cohort/core/allocator.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>

namespace cohort {
namespace {

constexpr std::size_t kSmallest = 64;
constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::seconds(2);
// Free memory that is kept when the system is asked for more: less than this is not worth the page faults.
constexpr std::size_t kLargeBytesKept = std::size_t{1} << 30;

}  // namespace

int MemoryPool::class_index(std::size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const int octave = std::bit_width(bytes) - 1;  // 2^octave <= bytes
  const std::size_t quarter = std::size_t{1} << (octave - 2);
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + quarter - 1) / quarter;  // 0..4
  return octave * 4 + static_cast<int>(steps);
}

std::size_t MemoryPool::size_of_class(int index) {
  const int octave = index / 4;
  return (std::size_t{1} << octave) + static_cast<std::size_t>(index % 4) * (std::size_t{1} << (octave - 2));
}

bool MemoryPool::is_large(int index) { return size_of_class(index) >= kLarge; }

std::size_t MemoryPool::class_size(std::size_t bytes) { return size_of_class(class_index(bytes)); }

std::size_t MemoryPool::bytes_in_use() {
  std::size_t bytes = 0;
  for (int index = class_index(0); index < kClasses; ++index) {
    std::lock_guard lock(free_[index].mutex);
    const std::size_t blocks = free_[index].made - free_[index].blocks.size();
    if (blocks > 0) bytes += blocks * size_of_class(index);
  }
  return bytes;
}

void* MemoryPool::allocate(std::size_t bytes) {
  const int index = class_index(bytes);
  FreeBlocks& free = free_[index];
  {
    std::lock_guard lock(free.mutex);
    if (!free.blocks.empty()) {
      void* memory = free.blocks.back();
      free.blocks.pop_back();
      free.idle = std::min(free.idle, free.blocks.size());
      if (is_large(index)) large_bytes_.fetch_sub(size_of_class(index), std::memory_order_relaxed);
      return memory;
    }
    if (free.blocks.capacity() <= free.made) free.blocks.reserve(2 * free.made + 1);
    ++free.made;
  }
  try {
    return ask_system(size_of_class(index));
  } catch (...) {
    std::lock_guard lock(free.mutex);
    --free.made;
    throw;
  }
}

void* MemoryPool::ask_system(std::size_t bytes) {
  if (bytes >= kLarge && sink_) give_back(false, kLargeBytesKept);
  try {
    return source_(bytes);
  } catch (const std::bad_alloc&) {
    if (!sink_ || large_bytes_.load(std::memory_order_relaxed) == 0) throw;
    give_back(false, 0);
    return source_(bytes);
  }
}

void MemoryPool::deallocate(void* memory, std::size_t bytes) noexcept {
  const int index = class_index(bytes);
  FreeBlocks& free = free_[index];
  {
    std::lock_guard lock(free.mutex);
    free.blocks.push_back(memory);
    if (is_large(index)) large_bytes_.fetch_add(size_of_class(index), std::memory_order_relaxed);
  }
  if (is_large(index) && sink_) look_for_idle();
}

void MemoryPool::look_for_idle() noexcept {
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::int64_t last = last_look_.load(std::memory_order_relaxed);
  if (now - last < kBetweenLooks.count() || !last_look_.compare_exchange_strong(last, now)) return;
  if (last != 0) give_back_idle();
}

void MemoryPool::give_back_idle() noexcept {
  give_back(true, 0);
  for (int index = class_index(kLarge); index < kClasses; ++index) {
    std::lock_guard lock(free_[index].mutex);
    free_[index].idle = free_[index].blocks.size();
  }
}

void MemoryPool::give_back(bool only_idle, std::size_t kept) noexcept {
  if (!sink_) return;
  for (int index = class_index(kLarge); index < kClasses; ++index) {
    const std::size_t size = size_of_class(index);
    FreeBlocks& free = free_[index];
    while (large_bytes_.load(std::memory_order_relaxed) > kept) {
      void* memory = nullptr;
      {
        std::lock_guard lock(free.mutex);
        if (free.blocks.empty() || (only_idle && free.idle == 0)) break;
        // The one in front has waited longest.
        memory = free.blocks.front();
        free.blocks.erase(free.blocks.begin());
        free.idle -= free.idle > 0;
        --free.made;
        large_bytes_.fetch_sub(size, std::memory_order_relaxed);
      }
      sink_(memory, size);
    }
  }
}

}  // namespace cohort
