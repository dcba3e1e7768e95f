#include "cohort/core/scratch.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr int kMaxPurposes = 256;  // about 50 for the baseline and as many for each level of the CPU

struct Block {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

// Without destructors: a thread that only looks here must not have to ask the heap for a place in a list of them.
thread_local std::array<Block, kMaxPurposes> held{};
thread_local bool counted = false;

Block make_block(std::size_t bytes) {
  Block block{std::aligned_alloc(Device::kAlignment, bytes), bytes};
  if (!block.memory) throw std::bad_alloc();
  return block;
}

}  // namespace

// Guarded by the mutex of all.
struct Scratch::State {
  std::size_t bytes = 0;    // of a block
  int made = 0;             // blocks of that size
  std::vector<Block> free;  // has room for all of them

  void make_up_to(int threads) {
    if (bytes == 0) return;
    free.reserve(static_cast<std::size_t>(std::max(threads, made)));
    for (; made < threads; ++made) free.push_back(make_block(bytes));
  }
  void enlarge(std::size_t wanted, int threads) {
    for (const Block& block : std::exchange(free, {})) std::free(block.memory);
    bytes = wanted;
    made = 0;
    make_up_to(threads);
  }
  void give(Block& block) noexcept {
    const Block given = std::exchange(block, {});
    if (!given.memory) return;
    if (given.bytes == bytes) {
      free.push_back(given);
    } else {
      std::free(given.memory);
    }
  }
};

namespace {

struct All {
  std::mutex mutex;
  int threads = 0;
  int purposes = 0;
  std::array<Scratch*, kMaxPurposes> scratches{};
};
All& all() {
  static All* instance = new All;
  return *instance;
}

// Of a thread that nobody announced; its destructor runs with the thread's end.
struct Guest {
  Guest() { ComputeThread::announce(); }
  ComputeThread thread;
};

}  // namespace

Scratch::Scratch() : state_(new State) {
  std::lock_guard lock(all().mutex);
  index_ = all().purposes++;
  if (index_ >= kMaxPurposes) throw internal_error("Scratch", "there are more purposes than kMaxPurposes");
  all().scratches[static_cast<std::size_t>(index_)] = this;
}

void* Scratch::bytes(std::size_t count) {
  Block& block = held[static_cast<std::size_t>(index_)];
  if (block.bytes >= count && block.memory) return block.memory;
  ComputeThread::join();
  const std::size_t wanted = std::max<std::size_t>(count, 1) + Device::kAlignment - 1;
  std::lock_guard lock(all().mutex);
  state_->give(block);
  if (count > state_->bytes || state_->bytes == 0) {
    state_->enlarge(wanted / Device::kAlignment * Device::kAlignment, all().threads);
  }
  if (state_->free.empty()) state_->make_up_to(state_->made + 1);
  block = state_->free.back();
  state_->free.pop_back();
  return block.memory;
}

void ComputeThread::announce(int threads) {
  std::lock_guard lock(all().mutex);
  all().threads += threads;
  for (int i = 0; i < all().purposes; ++i) {
    all().scratches[static_cast<std::size_t>(i)]->state_->make_up_to(all().threads);
  }
}

void ComputeThread::join() {
  if (!counted) thread_local Guest guest;
}

ComputeThread::ComputeThread() { counted = true; }

ComputeThread::~ComputeThread() {
  counted = false;
  std::lock_guard lock(all().mutex);
  --all().threads;
  for (int i = 0; i < all().purposes; ++i) {
    all().scratches[static_cast<std::size_t>(i)]->state_->give(held[static_cast<std::size_t>(i)]);
  }
}

}  // namespace cohort
