#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "cohort/core/thread_pool.h"
#include "cohort/data/indexed_elements.h"

namespace cohort::datasets {

// Calls body(begin, end) for blocks of the numbers below `count`, on as many threads as may read from `from` at a time.
// Of several blocks that throw it is the first one's error that is thrown.
template <class Body>
void read_in_blocks(const IndexedElements& from, std::int64_t count, const Body& body) {
  constexpr std::int64_t kBlocksOfThread = 4;
  const auto threads = static_cast<std::int64_t>(ThreadPool::instance().threads());
  const auto allowed = static_cast<std::int64_t>(from.parallel_reads());
  const std::int64_t blocks = std::min(count, std::min(allowed == 0 ? threads : allowed, threads) * kBlocksOfThread);
  if (allowed == 1 || blocks < 2) return body(0, count);
  std::int64_t first_failed = count;
  std::mutex mutex;
  std::exception_ptr error;
  ThreadPool::instance().run_blocks(blocks, [&](std::int64_t block) {
    const std::int64_t begin = count * block / blocks, end = count * (block + 1) / blocks;
    try {
      body(begin, end);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (begin < first_failed) {
        first_failed = begin;
        error = std::current_exception();
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace cohort::datasets
