#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/kernel.h"

namespace cohort::test {

// Whether a product has the same bits however it is asked for: a GPU chooses by shape how it sums, and keeps more
// precision where it need not round.
inline bool products_keep_bits() { return default_device().kernel_type() == kCPU; }
// Whether products read float32 where they compute in a half type.
inline bool products_read_float32() { return default_device().kernel_type() == kCPU; }

// The share of its largest number by which a product may differ on a GPU.
inline double product_tolerance(DType dtype) {
  switch (dtype) {
    case DType::BFloat16:
      return 1e-2;
    case DType::Float16:
      return 2e-3;
    case DType::Float64:
      return 1e-13;
    default:
      return 2e-6;
  }
}

// That numbers are the same: bit for bit where products keep their bits, else but for a share of the largest.
template <class T>
void expect_same_numbers(const std::vector<T>& seen, const std::vector<T>& expected, double tolerance) {
  if (products_keep_bits()) {
    EXPECT_EQ(seen, expected);
    return;
  }
  ASSERT_EQ(seen.size(), expected.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    largest = std::max<double>(largest, std::abs(expected[i]));
    const double distance = std::abs(seen[i] - expected[i]);
    worst = std::isnan(distance) ? HUGE_VAL : std::max(worst, distance);
  }
  EXPECT_LE(worst, tolerance * largest);
}
// For a product that is asked for in two ways.
template <class T>
void expect_same_product(const std::vector<T>& seen, const std::vector<T>& expected, DType dtype) {
  expect_same_numbers(seen, expected, product_tolerance(dtype));
}
// For what a few steps of training in float32 leave.
template <class T>
void expect_same_training(const std::vector<T>& seen, const std::vector<T>& expected) {
  expect_same_numbers(seen, expected, 1e-4);
}
template <class T>
void expect_same_training(const std::vector<std::vector<T>>& seen, const std::vector<std::vector<T>>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) expect_same_training(seen[i], expected[i]);
}

}  // namespace cohort::test
