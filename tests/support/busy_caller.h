#pragma once

#include <atomic>
#include <cstring>
#include <thread>

#include "cohort/core/device.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/random_ops.h"

namespace cohort::test {

// While it lives, a thread of its own keeps the pool of this process busy: products and rows whose kernels take working
// memory, and jobs whose blocks have jobs in turn.
class BusyCaller {
 public:
  BusyCaller() : thread_([this] { run(); }) {
    while (rounds_ == 0) std::this_thread::yield();
  }
  ~BusyCaller() { stop(); }
  BusyCaller(const BusyCaller&) = delete;

  // Ends it; false when two of its own rounds had different bits.
  bool stop() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    return same_bits_;
  }

 private:
  void run() {
    const Tensor x = ops::random_uniform({97, 128}, -1, 1, DType::Float32, 1).to(cpu());
    const Tensor weights = ops::random_uniform({128, 101}, -1, 1, DType::Float32, 2).to(cpu());
    Tensor first;
    for (; !end_; ++rounds_) {
      const Tensor y = ops::softmax(ops::matmul(x, weights));
      if (!first.defined()) first = y;
      if (std::memcmp(y.raw(), first.raw(), y.bytes()) != 0) same_bits_ = false;
      std::atomic<int> calls{0};
      ThreadPool::instance().run_blocks(
          4, [&](std::int64_t) { ThreadPool::instance().run_blocks(3, [&](std::int64_t) { ++calls; }); });
      if (calls != 12) same_bits_ = false;
    }
  }

  std::atomic<bool> end_ = false, same_bits_ = true;
  std::atomic<std::int64_t> rounds_ = 0;
  std::thread thread_;
};

}  // namespace cohort::test
