#include "cohort/distribute/collective/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute::collective {
namespace {

constexpr std::uint64_t kSegmentMagic = 0x3167657374726863;  // "chrtseg1"
constexpr std::size_t kPageBytes = std::size_t{64} << 10;    // the largest that hosts have
constexpr char kNameForm[] = "%d/%d%n";

struct SegmentHead {
  std::uint64_t magic;
  std::uint64_t chunk_bytes;
  std::uint64_t chunks;
  std::uint64_t nonce;
  Lane lanes[2];
};
static_assert(sizeof(SegmentHead) <= kPageBytes);
constexpr std::size_t kSegmentBytes = kPageBytes + 2 * kSegmentChunks * kChunkBytes;

void* map_segment(int file) {
  void* const memory = mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

SegmentHead& head_of(std::byte* memory) { return *reinterpret_cast<SegmentHead*>(memory); }

Error no_segment(const char* step) {
  return Error(ErrorCode::ResourceExhausted, "Communicator", "shared memory for each pair of workers is expected",
               {{"step", step}, {"reason", std::strerror(errno)}, {"bytes", kSegmentBytes}},
               "Free memory, or set options.transport to grpc.");
}

}  // namespace

std::unique_ptr<SharedSegment> SharedSegment::make() {
  const int file = memfd_create("cohort", MFD_CLOEXEC);
  if (file < 0) throw no_segment("memfd_create");
  void* const memory = ftruncate(file, static_cast<off_t>(kSegmentBytes)) == 0 ? map_segment(file) : nullptr;
  if (memory == nullptr) {
    const Error error = no_segment("mmap");
    close(file);
    throw error;
  }
  SegmentHead& head = *new (memory) SegmentHead{};
  head.chunk_bytes = kChunkBytes;
  head.chunks = kSegmentChunks;
  head.nonce = new_identity();
  head.magic = kSegmentMagic;
  return std::unique_ptr<SharedSegment>(new SharedSegment(file, memory, true));
}

std::unique_ptr<SharedSegment> SharedSegment::open(const std::string& name) {
  int process = 0, number = 0, end = 0;
  if (std::sscanf(name.c_str(), kNameForm, &process, &number, &end) != 2) return nullptr;
  if (static_cast<std::size_t>(end) != name.size() || process < 1 || number < 0) return nullptr;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, number);
  // Elsewhere the same name may be anything: it is looked at before it is used.
  const int file = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return nullptr;
  struct stat about {};
  const bool fits = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                    about.st_size == static_cast<off_t>(kSegmentBytes);
  void* const memory = fits ? map_segment(file) : nullptr;
  close(file);
  if (memory == nullptr) return nullptr;
  std::unique_ptr<SharedSegment> segment(new SharedSegment(-1, memory, false));
  const SegmentHead& head = head_of(segment->memory_);
  const bool is_one = head.magic == kSegmentMagic && head.chunk_bytes == kChunkBytes && head.chunks == kSegmentChunks;
  return is_one ? std::move(segment) : nullptr;
}

SharedSegment::~SharedSegment() {
  hide();
  munmap(memory_, kSegmentBytes);
}

std::string SharedSegment::name() const { return std::to_string(getpid()) + "/" + std::to_string(file_); }

void SharedSegment::hide() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

std::uint64_t SharedSegment::nonce() const { return head_of(memory_).nonce; }
Lane& SharedSegment::lane(int index) { return head_of(memory_).lanes[index]; }
std::byte* SharedSegment::chunk(int lane, std::size_t slot) {
  return memory_ + kPageBytes + (static_cast<std::size_t>(lane) * kSegmentChunks + slot) * kChunkBytes;
}

}  // namespace cohort::distribute::collective
