#include "cohort/core/allocator.h"

#include <algorithm>
#include <bit>

namespace cohort {
namespace {

constexpr std::size_t kSmallest = 64;

}  // namespace

int MemoryPool::class_index(std::size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const int octave = std::bit_width(bytes) - 1;  // 2^octave <= bytes
  const std::size_t quarter = std::size_t{1} << (octave - 2);
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + quarter - 1) / quarter;  // 0..4
  return octave * 4 + static_cast<int>(steps);
}

std::size_t MemoryPool::class_size(std::size_t bytes) {
  const int index = class_index(bytes);
  const int octave = index / 4;
  return (std::size_t{1} << octave) + static_cast<std::size_t>(index % 4) * (std::size_t{1} << (octave - 2));
}

void* MemoryPool::allocate(std::size_t bytes) {
  FreeBlocks& free = free_[class_index(bytes)];
  {
    std::lock_guard lock(free.mutex);
    if (!free.blocks.empty()) {
      void* memory = free.blocks.back();
      free.blocks.pop_back();
      return memory;
    }
    if (free.blocks.capacity() <= free.made) free.blocks.reserve(2 * free.made + 1);
    ++free.made;
  }
  return source_(class_size(bytes));
}

void MemoryPool::deallocate(void* memory, std::size_t bytes) noexcept {
  FreeBlocks& free = free_[class_index(bytes)];
  std::lock_guard lock(free.mutex);
  free.blocks.push_back(memory);
}

}  // namespace cohort
