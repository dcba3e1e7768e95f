#include "cohort/distribute/collective/shared_heap.h"

#include <sys/mman.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort::distribute::collective {
namespace {

// Addresses, of which the system gives memory to those that are used. Every peer maps them all, and the thread
// sanitizer has few to give.
constexpr rpc::SharedMemory::Kind kHeapKind{.mark = 0x3170616568726863,  // "chrheap1"
                                            .bytes = std::size_t{16} << 30};
constexpr std::uint64_t kPage = 64 << 10;  // the largest that hosts have

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

bool lies_in_heap(std::uint64_t place, std::uint64_t bytes) {
  return place <= kHeapKind.bytes && bytes <= kHeapKind.bytes - place;
}

}  // namespace

SharedHeap* SharedHeap::of_process() {
  static SharedHeap* const heap = make();  // never destroyed: blocks outlive whoever asked for it
  return heap;
}

SharedHeap* SharedHeap::make() {
  try {
    auto* const heap = new SharedHeap(rpc::SharedMemory::make(kHeapKind, "Communicator", "memory that peers read", ""));
    set_source(*heap);
    return heap;
  } catch (const Error& error) {
    log::debug(std::string(error.what()) + " Sums go through chunks.");
    return nullptr;
  }
}

SharedHeap::SharedHeap(std::unique_ptr<rpc::SharedMemory> memory)
    : memory_(std::move(memory)), free_{{0, kHeapKind.bytes}} {}

std::optional<std::uint64_t> SharedHeap::place_of(const void* memory, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_->data()), at = reinterpret_cast<std::uintptr_t>(memory);
  if (at < begin || !lies_in_heap(at - begin, bytes)) return std::nullopt;
  return at - begin;
}

void* SharedHeap::take(std::size_t bytes) noexcept try {
  const std::uint64_t wanted = whole_pages(bytes);
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& part) { return part.second >= wanted; });
  if (found == free_.end()) return nullptr;
  const auto [place, size] = *found;
  if (size > wanted) free_[place + wanted] = size - wanted;
  free_.erase(place);
  return memory_->data() + place;
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool SharedHeap::give_back(void* memory, std::size_t bytes) noexcept {
  const std::optional<std::uint64_t> place = place_of(memory, bytes);
  if (!place) return false;
  ::madvise(memory, whole_pages(bytes), MADV_REMOVE);  // it is the system's again
  std::lock_guard lock(mutex_);
  try {
    auto part = free_.emplace(*place, whole_pages(bytes)).first;
    if (const auto next = std::next(part); next != free_.end() && part->first + part->second == next->first) {
      part->second += next->second;
      free_.erase(next);
    }
    if (part == free_.begin()) return true;
    if (const auto before = std::prev(part); before->first + before->second == part->first) {
      before->second += part->second;
      free_.erase(part);
    }
  } catch (const std::bad_alloc&) {
    // Addresses are lost, and no memory.
  }
  return true;
}

std::unique_ptr<PeerHeap> PeerHeap::open(const std::string& name) {
  auto memory = rpc::SharedMemory::open(name, kHeapKind, rpc::SharedMemory::Access::Read);
  if (!memory) return nullptr;
  ::madvise(memory->data(), kHeapKind.bytes, MADV_DONTDUMP);
  return std::unique_ptr<PeerHeap>(new PeerHeap(std::move(memory)));
}

const std::byte* PeerHeap::at(std::uint64_t place, std::size_t bytes) const {
  return lies_in_heap(place, bytes) ? memory_->data() + place : nullptr;
}

}  // namespace cohort::distribute::collective
