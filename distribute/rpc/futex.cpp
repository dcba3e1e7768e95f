#include "cohort/distribute/rpc/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <limits>

namespace cohort::distribute::rpc {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds longest) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &time, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
          nullptr, 0);
}

}  // namespace cohort::distribute::rpc
