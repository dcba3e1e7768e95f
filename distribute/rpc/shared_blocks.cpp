#include "cohort/distribute/rpc/shared_blocks.h"

#include <algorithm>

#include "cohort/distribute/rpc/wire.h"

namespace cohort::distribute::rpc {

void SharedBlocks::take_back() {
  std::erase_if(given_, [&](const Place& place) {
    return counts_.blocks[place.number].is_held.load(std::memory_order_acquire) == 0;
  });
}

// The first gap that is large enough: what was used last is in the caches, and the system gives no more than it must.
std::optional<SharedBlocks::Place> SharedBlocks::give(std::uint64_t bytes) {
  take_back();
  if (given_.size() == kMost) return std::nullopt;
  Place place{.bytes = bytes};
  auto next = given_.begin();
  while (next != given_.end() && next->offset - place.offset < bytes) {
    place.offset = wire::aligned(next->offset + next->bytes);
    ++next;
  }
  if (next == given_.end() && (place.offset > kBytes || kBytes - place.offset < bytes)) return std::nullopt;
  const auto has_number = [&](const Place& other) { return other.number == place.number; };
  while (std::any_of(given_.begin(), given_.end(), has_number)) ++place.number;
  counts_.blocks[place.number].is_held.store(1, std::memory_order_relaxed);
  return *given_.insert(next, place);
}

Owned<Buffer> SharedBlocks::hold(const Place& place) const {
  const bool is_one = place.number < kMost && place.offset % wire::kPartAlignment == 0 && place.offset <= kBytes &&
                      place.bytes <= kBytes - place.offset;
  if (!is_one) return {};
  return Buffer::borrow(
      cpu(), blocks_ + place.offset, place.bytes,
      [memory = memory_, held = &counts_.blocks[place.number].is_held] { held->store(0, std::memory_order_release); });
}

}  // namespace cohort::distribute::rpc
