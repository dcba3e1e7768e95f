#include "cohort/distribute/collective/channel.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute::collective {
namespace {

// Calls with the offset and size of each chunk; what is empty is one chunk.
template <class Visit>
void for_each_chunk(std::size_t bytes, const Visit& visit) {
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(kChunkBytes, bytes - offset);
    visit(offset, count);
    offset += count;
  } while (offset < bytes);
}

// What is read at once to be added: it stays in the nearest cache.
constexpr std::size_t kTileBytes = std::size_t{16} << 10;

// Throws where what came was damaged.
void read_to_its_end(UnreadPart& part) {
  std::vector<std::byte> rest(part.left());
  part.read(rest.data(), rest.size());
}

}  // namespace

void Channel::Arrived::copy_to(std::byte* to) const {
  if (unread) return unread->read(to, unread->left());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void Channel::Arrived::add_to(DType dtype, const std::byte* own, std::byte* sum) const {
  if (!unread) return add(dtype, own, bytes.data(), sum, bytes.size() / size_of(dtype));
  alignas(64) thread_local std::byte tile[kTileBytes];
  while (const std::size_t count = std::min(unread->left(), kTileBytes)) {
    unread->read(tile, count);
    add(dtype, own, tile, sum, count / size_of(dtype));
    own += count, sum += count;
  }
}

void Channel::send_copy(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline) {
  const std::span<std::byte> to = reserve(bytes.size(), deadline);
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  send(label);
}

void Channel::throw_left() const {
  throw Error(ErrorCode::Unavailable, "Communicator", "every worker stays until the others need it no more",
              {{"left", peer()}}, "Let every worker make the same calls.");
}

void Channel::post(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline) {
  for_each_chunk(bytes.size(), [&](std::size_t offset, std::size_t count) {
    send_copy(label, bytes.subspan(offset, count), deadline);
  });
}

Channel::Arrived Channel::expect(const CallLabel& label, std::size_t bytes, Deadline deadline) {
  const Arrived arrived = next(deadline);
  if (arrived.label != label || arrived.size() != bytes) {
    if (arrived.unread) read_to_its_end(*arrived.unread);
    throw Error(ErrorCode::FailedPrecondition, "Communicator", "all workers make the same calls in the same order",
                {{"here", label.to_string()}, {peer(), arrived.label.to_string()}},
                "Let every worker run the same program on tensors of the same sizes.");
  }
  return arrived;
}

void Channel::receive(const CallLabel& label, std::span<std::byte> into, Deadline deadline) {
  for_each_chunk(into.size(), [&](std::size_t offset, std::size_t count) {
    expect(label, count, deadline).copy_to(into.data() + offset);
    release();
  });
}

void Channel::receive_and_add(const CallLabel& label, DType dtype, std::span<std::byte> into, Deadline deadline) {
  for_each_chunk(into.size(), [&](std::size_t offset, std::size_t count) {
    std::byte* const to = into.data() + offset;
    expect(label, count, deadline).add_to(dtype, to, to);
    release();
  });
}

}  // namespace cohort::distribute::collective
