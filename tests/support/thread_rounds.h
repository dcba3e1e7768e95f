#pragma once

#include <string>

#include "cohort/core/device.h"
#include "cohort/core/thread_pool.h"

namespace cohort::test {

// How many threads the pool has, and how many of them the caller may use; 0: all.
struct ThreadRound {
  int threads;
  int share = 0;

  std::string in_words() const {
    return std::to_string(threads) + " threads" + (share > 0 ? ", a share of " + std::to_string(share) : "");
  }
};
// What results must not depend on. Sanitizers look for races and bad memory, for which some of it will do.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr ThreadRound kThreadRounds[] = {{1}, {3}, {8, 3}};
#else
inline constexpr ThreadRound kThreadRounds[] = {{1}, {2}, {3}, {5}, {8}, {16}, {8, 3}};
#endif

// Sets the pool's number of threads, and puts it back when it goes.
class PoolThreads {
 public:
  PoolThreads() : before_(ThreadPool::instance().threads()) {}
  ~PoolThreads() { set(before_); }
  PoolThreads(const PoolThreads&) = delete;
  void set(int threads) const {
    default_device().synchronize();
    ThreadPool::instance().set_threads(threads);
  }

 private:
  int before_;
};

}  // namespace cohort::test
