#include "cohort/distribute/collective/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute::collective::test {
namespace {

template <class T>
std::vector<T> sums(DType dtype, const std::vector<T>& left, const std::vector<T>& right) {
  std::vector<T> sum(left.size());
  add(dtype, left.data(), right.data(), sum.data(), sum.size());
  return sum;
}

TEST(Reduction, AddsInTheTypeOfTheValues) {
  EXPECT_EQ(sums<float>(DType::Float32, {1.5f, -2}, {2.25f, 5}), (std::vector<float>{3.75f, 3}));
  EXPECT_EQ(sums<double>(DType::Float64, {1e-17, 1}, {1e-17, 1e-12}), (std::vector<double>{2e-17, 1 + 1e-12}));
  EXPECT_EQ(sums<std::int64_t>(DType::Int64, {1LL << 53}, {1}), (std::vector<std::int64_t>{(1LL << 53) + 1}));
}

TEST(Reduction, IntegersWrapAround) {
  const std::int32_t largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(sums<std::int32_t>(DType::Int32, {largest}, {1}),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()}));
}

TEST(Reduction, HalvesAreRoundedToNearestOnce) {
  // 2048 + 3 lies between 2050 and 2052, which halves have.
  const auto halves = sums<Half>(DType::Float16, {Half(2048), Half(60000)}, {Half(3), Half(60000)});
  EXPECT_EQ(static_cast<float>(halves[0]), 2052);
  EXPECT_TRUE(std::isinf(static_cast<float>(halves[1])));
  const auto brains = sums<BFloat16>(DType::BFloat16, {BFloat16(256), BFloat16(NAN)}, {BFloat16(3), BFloat16(1)});
  EXPECT_EQ(static_cast<float>(brains[0]), 260);
  EXPECT_TRUE(std::isnan(static_cast<float>(brains[1])));
}

TEST(Reduction, WorksInPlace) {
  std::vector<float> values{1, 2, 3};
  add(DType::Float32, values.data(), values.data(), values.data(), values.size());
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
}

TEST(Reduction, OnlyNumbersThatGradientsHave) {
  EXPECT_TRUE(can_add(DType::BFloat16));
  EXPECT_FALSE(can_add(DType::Bool));
  EXPECT_FALSE(can_add(DType::String));
  unsigned char byte = 1;
  EXPECT_THROW(add(DType::Bool, &byte, &byte, &byte, 1), Error);
}

}  // namespace
}  // namespace cohort::distribute::collective::test
