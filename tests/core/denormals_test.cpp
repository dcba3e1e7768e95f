#include "cohort/core/denormals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/tensor.h"
#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

template <class T>
T half_of_smallest() {
  volatile T smallest = std::numeric_limits<T>::min(), half = T(0.5);
  return smallest * half;
}

TEST(Denormals, AreFlushedInsideAScopeOnly) {
  EXPECT_GT(half_of_smallest<float>(), 0);
  EXPECT_FALSE(FlushDenormals::active());
  {
    const FlushDenormals flush;
    EXPECT_TRUE(FlushDenormals::active());
    EXPECT_EQ(half_of_smallest<float>(), 0);
    EXPECT_EQ(half_of_smallest<double>(), 0);
    {
      const FlushDenormals inner;
      EXPECT_EQ(half_of_smallest<float>(), 0);
    }
    EXPECT_EQ(half_of_smallest<float>(), 0);
    volatile float denormal = std::numeric_limits<float>::denorm_min(), scale = 1e30f;
    EXPECT_EQ(denormal * scale, 0);
  }
  EXPECT_GT(half_of_smallest<float>(), 0);
  EXPECT_GT(half_of_smallest<double>(), 0);
}

TEST(Denormals, AreFlushedInEveryBlockAndNotBehindIt) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  for (int threads : {1, 4}) {
    pool.set_threads(threads);
    std::vector<float> results(64, 1.0f);
    pool.run_blocks(64, [&](std::int64_t i) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      results[static_cast<std::size_t>(i)] = half_of_smallest<float>();
    });
    for (float result : results) EXPECT_EQ(result, 0);
    EXPECT_GT(half_of_smallest<float>(), 0);
  }
  EXPECT_ANY_THROW(pool.run_blocks(4, [](std::int64_t) { throw 1; }));
  EXPECT_GT(half_of_smallest<float>(), 0);
  pool.set_threads(before);
}

TEST(Denormals, AThreadHasItsOwnModeBackBehindAKernel) {
  Device& host = cpu();
  bool flushed = false;
  const KernelFn look = [&](const KernelIO&) { flushed = FlushDenormals::active(); };
  const KernelFn fail = [](const KernelIO&) { throw std::runtime_error("refused"); };
  const std::string name = "look";
  const KernelCall calls[] = {{&look, nullptr, 0, 0, &name}, {&fail, nullptr, 0, 0, &name}};
  host.run({calls, 1}, {}, nullptr);
  EXPECT_TRUE(flushed);
  EXPECT_FALSE(FlushDenormals::active());
  EXPECT_THROW(host.run({calls, 2}, {}, nullptr), std::runtime_error);
  EXPECT_FALSE(FlushDenormals::active());
  const Tensor smallest = Tensor::full({100}, std::numeric_limits<float>::min(), DType::Float32, host);
  const Tensor product = run_op("Multiply", {smallest, Tensor::full({100}, 0.5, DType::Float32, host)});
  EXPECT_EQ(product.data<float>()[99], 0);
  EXPECT_GT(half_of_smallest<float>(), 0);
}

}  // namespace
}  // namespace cohort
