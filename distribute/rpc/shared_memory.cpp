#include "cohort/distribute/rpc/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "cohort/core/error.h"
#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::size_t kPageBytes = std::size_t{64} << 10;  // the largest that hosts have
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct MemoryHead {
  std::uint64_t mark;
  std::uint64_t bytes;
  std::uint64_t told;
  std::uint64_t nonce;
};

void* map_file(int file, std::size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* const memory = mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::make(const Kind& kind, std::string_view who, std::string_view expected,
                                                 std::string_view fix) {
  const std::size_t bytes = kPageBytes + kind.bytes;
  const auto refusal = [&](const char* step) {
    return Error(ErrorCode::ResourceExhausted, who, expected,
                 {{"step", step}, {"reason", std::strerror(errno)}, {"bytes", bytes}}, fix);
  };
  const int file = memfd_create("cohort", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) throw refusal("memfd_create");
  const bool sized = ftruncate(file, static_cast<off_t>(bytes)) == 0 && fcntl(file, F_ADD_SEALS, kSeals) == 0;
  void* const mapped = sized ? map_file(file, bytes) : nullptr;
  if (mapped == nullptr) {
    const Error error = refusal("mmap");
    close(file);
    throw error;
  }
  std::unique_ptr<SharedMemory> memory(new SharedMemory(file, mapped, bytes, true));
  memory->told_ = new_identity();
  memory->nonce_ = new_identity();
  new (mapped) MemoryHead{.mark = kind.mark, .bytes = kind.bytes, .told = memory->told_, .nonce = memory->nonce_};
  return memory;
}

std::unique_ptr<SharedMemory> SharedMemory::open(const std::string& name, const Kind& kind, Access access) {
  int process = 0, number = 0, end = 0;
  std::uint64_t told = 0;
  if (std::sscanf(name.c_str(), "%d/%d/%" SCNx64 "%n", &process, &number, &told, &end) != 3) return nullptr;
  if (static_cast<std::size_t>(end) != name.size() || process < 1 || number < 0) return nullptr;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, number);
  // On another host the same name may be anything: it is looked at before it is used.
  const bool reads = access == Access::Read;
  const int file = ::open(path, (reads ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return nullptr;
  const std::size_t bytes = kPageBytes + kind.bytes;
  struct stat about {};
  const int seals = fcntl(file, F_GET_SEALS);
  const bool fits = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                    about.st_size == static_cast<off_t>(bytes) && seals >= 0 && (seals & kSeals) == kSeals;
  void* const mapped = fits ? map_file(file, bytes, reads ? PROT_READ : PROT_READ | PROT_WRITE) : nullptr;
  close(file);
  if (mapped == nullptr) return nullptr;
  std::unique_ptr<SharedMemory> memory(new SharedMemory(-1, mapped, bytes, false));
  MemoryHead head;
  std::memcpy(&head, mapped, sizeof head);
  if (head.mark != kind.mark || head.bytes != kind.bytes || head.told != told) return nullptr;
  memory->told_ = head.told;
  memory->nonce_ = head.nonce;
  return memory;
}

SharedMemory::~SharedMemory() {
  hide();
  munmap(memory_, bytes_);
}

std::string SharedMemory::name() const {
  char text[64];
  std::snprintf(text, sizeof text, "%d/%d/%" PRIx64, getpid(), file_, told_);
  return text;
}

void SharedMemory::hide() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

std::byte* SharedMemory::data() const { return memory_ + kPageBytes; }

}  // namespace cohort::distribute::rpc
