#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "cohort/core/thread_pool.h"
#include "cohort/data/indexed_elements.h"
#include "cohort/datasets/transforms/first_error.h"
#include "cohort/datasets/transforms/reader_threads.h"

namespace cohort::datasets {

// Blocks that several reader threads and whoever waits for them do, each the next one that nobody has begun.
class BlocksToRead {
 public:
  BlocksToRead(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) : blocks_(blocks), body_(body) {}

  // Returns when all are done.
  //   threads: how many take part, the caller included.
  void read(std::size_t threads) {
    std::array<Helper, kMostHelpers> helpers;
    const auto used = std::span(helpers).first(std::min(threads - 1, helpers.size()));
    for (Helper& helper : used) {
      helper.blocks = this;
      ReaderThreads::instance().submit(helper);
    }
    work();
    for (Helper& helper : used) ReaderThreads::instance().withdraw(helper);
  }

 private:
  struct Helper : ReaderTask {
    BlocksToRead* blocks = nullptr;
    void read() noexcept override { blocks->work(); }
  };
  static constexpr std::size_t kMostHelpers = 31;

  void work() {
    for (std::int64_t block = next_++; block < blocks_; block = next_++) body_(block);
  }

  const std::int64_t blocks_;
  const FunctionRef<void(std::int64_t)> body_;  // throws nothing
  std::atomic<std::int64_t> next_{0};
};

// Calls body(begin, end) for blocks of the numbers below `count`, on as many threads as may read from `from` at a time:
// those of the pool, or reader threads where `from` waits for files. Of several blocks that throw it is the first one's
// error that is thrown.
template <class Body>
void read_in_blocks(const IndexedElements& from, std::int64_t count, const Body& body) {
  constexpr std::int64_t kBlocksOfThread = 4;
  const bool blocks_threads = from.blocks();
  const auto threads = blocks_threads ? static_cast<std::int64_t>(ReaderThreads::instance().for_one_caller())
                                      : static_cast<std::int64_t>(ThreadPool::instance().threads());
  const auto asked = static_cast<std::int64_t>(from.parallel_reads());
  const std::int64_t allowed = asked == 0 ? threads : std::min(asked, threads);
  const std::int64_t blocks = std::min(count, allowed * kBlocksOfThread);
  if (asked == 1 || blocks < 2) return body(0, count);
  FirstError error;
  const auto read_block = [&](std::int64_t block) {
    const std::int64_t begin = count * block / blocks, end = count * (block + 1) / blocks;
    try {
      body(begin, end);
    } catch (...) {
      error.note(begin);
    }
  };
  if (blocks_threads) {
    BlocksToRead(blocks, read_block).read(static_cast<std::size_t>(std::min(allowed, blocks)));
  } else {
    ThreadPool::instance().run_blocks(blocks, read_block);
  }
  error.rethrow();
}

}  // namespace cohort::datasets
