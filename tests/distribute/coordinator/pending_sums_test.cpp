#include "cohort/distribute/coordinator/pending_sums.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/kills_wanted.h"
#include "tests/support/resident_memory.h"

namespace cohort::distribute {
namespace {

using cohort::test::kFreedAndKept;
using cohort::test::kills_wanted;
using cohort::test::resident_bytes;

TEST(PendingSums, AreAddedWhenAsked) {
  const Variable a(Tensor::full({2}, 1.0)), b(Tensor::scalar(0.0));
  PendingSums sums;
  sums.collect({a, b}, {Tensor::full({2}, 2.0), Tensor::scalar(10.0)});
  sums.collect({b}, {Tensor::scalar(5.0)});
  sums.collect({a, b}, {Tensor::full({2}, 3.0), Tensor::scalar(1.0)});
  EXPECT_EQ(a.value().to_vector<float>(), (std::vector<float>{1.0f, 1.0f}));
  sums.apply();
  EXPECT_EQ(a.value().to_vector<float>(), (std::vector<float>{6.0f, 6.0f}));
  EXPECT_EQ(b.value().item<float>(), 16.0f);
  sums.apply();
  EXPECT_EQ(b.value().item<float>(), 16.0f);
}

TEST(PendingSums, ComeFromSeveralThreads) {
  const Variable total(Tensor::scalar(0.0));
  PendingSums sums;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) sums.collect({total}, {Tensor::scalar(1.0)});
    });
  }
  for (int k = 0; k < 100; ++k) sums.apply();
  for (std::thread& thread : threads) thread.join();
  sums.apply();
  EXPECT_EQ(total.value().item<float>(), 4000.0f);
}

// As many results as a million executions with an AUC bring, before anyone looks; a part of it in the suite.
TEST(PendingSums, DoNotGrowWithTheNumberOfResults) {
  const int results = kills_wanted(0) > 0 ? 1'000'000 : 50'000;
  std::vector<Variable> variables;
  for (int i = 0; i < 4; ++i) variables.emplace_back(Tensor::full({200}, 0.0));
  PendingSums sums;
  const auto collect = [&] {
    Tensors added;
    for (int i = 0; i < 4; ++i) added.push_back(Tensor::full({200}, 1.0));
    sums.collect(variables, added);
  };
  for (int i = 0; i < 100; ++i) collect();
  const std::int64_t before = resident_bytes();
  for (int i = 100; i < results; ++i) collect();
  EXPECT_LT(resident_bytes() - before, (5 << 20) + kFreedAndKept);
  sums.apply();
  EXPECT_EQ(variables[3].value().to_vector<float>()[199], static_cast<float>(results));
}

}  // namespace
}  // namespace cohort::distribute
