#include "cohort/core/mixed_types.h"

#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/ops/ops.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

const DType kHalves[] = {DType::BFloat16, DType::Float16};

Tensor some_numbers(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 504.0f - 1.0f;
  }
  return Tensor::of(values, shape);
}

// Products of every path: small, flat, packed in several parts along k, batched, with nothing to sum.
TEST(MixedTypes, ProductsRoundWhatTheyReadAndWrite) {
  struct Sizes {
    Shape a, b;
    bool transpose_a, transpose_b;
  };
  const std::vector<Sizes> all = {{{1, 1}, {1, 1}, false, false},           {{3, 5}, {5, 2}, false, false},
                                  {{33, 65}, {65, 129}, false, false},      {{65, 33}, {65, 129}, true, false},
                                  {{33, 65}, {129, 65}, false, true},       {{65, 33}, {129, 65}, true, true},
                                  {{500, 700}, {700, 90}, false, false},    {{700, 450}, {90, 700}, true, true},
                                  {{4, 0}, {0, 3}, false, false},           {{5, 20, 30}, {5, 30, 7}, false, false},
                                  {{2, 1, 20, 30}, {3, 7, 30}, false, true}};
  for (const DType half : kHalves) {
    for (const Sizes& sizes : all) {
      const Tensor a = some_numbers(sizes.a, 5), b = some_numbers(sizes.b, 6);
      const Tensor expected = ops::cast(
          ops::matmul(ops::cast(a, half), ops::cast(b, half), sizes.transpose_a, sizes.transpose_b), DType::Float32);
      const auto product = [&](const Tensor& left, const Tensor& right, DType result) {
        const Tensor c = run_op("FusedMatMul", {left, right},
                                {{"transpose_a", sizes.transpose_a},
                                 {"transpose_b", sizes.transpose_b},
                                 {kComputeType, half},
                                 {kResultType, result}});
        EXPECT_EQ(c.dtype(), result);
        return ops::cast(c, DType::Float32).to_vector<float>();
      };
      SCOPED_TRACE(sizes.a.to_string() + sizes.b.to_string());
      const std::vector<float> wanted = expected.to_vector<float>();
      test::expect_same_product(product(a, b, DType::Float32), wanted, half);
      test::expect_same_product(product(a, ops::cast(b, half), half), wanted, half);
      test::expect_same_product(product(ops::cast(a, half), b, DType::Float32), wanted, half);
    }
  }
}

TEST(MixedTypes, GraphsThatAskForOtherTypesAreRefused) {
  const Tensor a = some_numbers({4, 4}, 1), wide = ops::cast(a, DType::Float64), row = some_numbers({4}, 2);
  const Attributes half = {{kComputeType, DType::BFloat16}};
  EXPECT_THROW(run_op("FusedMatMul", {wide, a}, half), Error);
  EXPECT_THROW(run_op("FusedMatMul", {a, a, ops::cast(row, DType::Float16)}, half), Error);
  EXPECT_THROW(run_op("FusedMatMul", {ops::cast(a, DType::BFloat16), a}, {{kComputeType, DType::Float32}}), Error);
  EXPECT_THROW(run_op("FusedMatMul", {a, a, row}, {{kComputeType, DType::BFloat16}, {kResultType, DType::Float32}}),
               Error);
  EXPECT_THROW(run_op("LayerNorm", {wide, row, row}, {{kComputeType, DType::Float32}}), Error);
  EXPECT_THROW(run_op("LayerNorm", {a, row, row}, {{kResultType, DType::Float64}}), Error);
  EXPECT_THROW(
      run_op("Gather", {ops::cast(a, DType::BFloat16), ops::cast(row, DType::Int32)}, {{kResultType, DType::Float32}}),
      Error);
  EXPECT_THROW(run_op("SumToLike", {a, row}, {{kResultType, DType::BFloat16}}), Error);
}

}  // namespace
}  // namespace cohort
