#include "cohort/distribute/collective/channel.h"

#include <algorithm>
#include <cstring>

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

}  // namespace

void Channel::throw_left() const {
  throw Error(ErrorCode::Unavailable, "Communicator", "every worker stays until the others need it no more",
              {{"left", peer()}}, "Let every worker make the same calls.");
}

void Channel::post(const CallLabel& label, std::span<const std::byte> bytes, Deadline deadline) {
  for_each_chunk(bytes.size(), [&](std::size_t offset, std::size_t count) {
    const std::span<std::byte> to = reserve(count, deadline);
    if (count > 0) std::memcpy(to.data(), bytes.data() + offset, count);
    send(label);
  });
}

Channel::Arrived Channel::expect(const CallLabel& label, std::size_t bytes, Deadline deadline) {
  const Arrived arrived = next(deadline);
  if (arrived.label != label || arrived.bytes.size() != bytes) {
    throw Error(ErrorCode::FailedPrecondition, "Communicator", "all workers make the same calls in the same order",
                {{"here", label.to_string()}, {peer(), arrived.label.to_string()}},
                "Let every worker run the same program on tensors of the same sizes.");
  }
  return arrived;
}

void Channel::receive(const CallLabel& label, std::span<std::byte> into, Deadline deadline) {
  for_each_chunk(into.size(), [&](std::size_t offset, std::size_t count) {
    const Arrived arrived = expect(label, count, deadline);
    if (count > 0) std::memcpy(into.data() + offset, arrived.bytes.data(), count);
    release();
  });
}

void Channel::receive_and_add(const CallLabel& label, DType dtype, std::span<std::byte> into, Deadline deadline) {
  for_each_chunk(into.size(), [&](std::size_t offset, std::size_t count) {
    const Arrived arrived = expect(label, count, deadline);
    std::byte* const to = into.data() + offset;
    add(dtype, to, arrived.bytes.data(), to, count / size_of(dtype));
    release();
  });
}

}  // namespace cohort::distribute::collective
