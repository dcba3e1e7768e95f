#include "cohort/distribute/collective/shared_segment.h"

#include <new>

namespace cohort::distribute::collective {
namespace {

constexpr std::size_t kLanesBytes = (2 * sizeof(Lane) + 0xffff) & ~std::size_t{0xffff};
constexpr rpc::SharedMemory::Kind kSegmentKind{.mark = 0x3267657374726863,  // "chrtseg2"
                                               .bytes = kLanesBytes + 2 * kSegmentChunks * kChunkBytes};

}  // namespace

std::unique_ptr<SharedSegment> SharedSegment::make() {
  auto memory =
      rpc::SharedMemory::make(kSegmentKind, "Communicator", "shared memory for each pair of workers is expected",
                              "Free memory, or set options.transport to grpc.");
  new (memory->data()) Lane[2]{};
  return std::unique_ptr<SharedSegment>(new SharedSegment(std::move(memory)));
}

std::unique_ptr<SharedSegment> SharedSegment::open(const std::string& name) {
  auto memory = rpc::SharedMemory::open(name, kSegmentKind);
  return memory ? std::unique_ptr<SharedSegment>(new SharedSegment(std::move(memory))) : nullptr;
}

Lane& SharedSegment::lane(int index) { return reinterpret_cast<Lane*>(memory_->data())[index]; }
std::byte* SharedSegment::chunk(int lane, std::size_t slot) {
  return memory_->data() + kLanesBytes + (static_cast<std::size_t>(lane) * kSegmentChunks + slot) * kChunkBytes;
}

}  // namespace cohort::distribute::collective
