#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op_determinism.h"
#include "cohort/ops/cast.h"
#include "tests/support/op_check.h"
#include "tests/support/same_products.h"

namespace cohort::test {
namespace {

struct GradientSizes {
  std::int64_t rows, m, n;
};

// Small ones on and beside the edges of a GPU's blocks, one more row than a block has, and others for its library.
const GradientSizes kGradientSizes[] = {{1, 1, 1},     {64, 10, 10},   {64, 16, 10},  {7, 15, 33},    {300, 8, 3},
                                        {0, 3, 5},     {5, 0, 4},      {1030, 4, 4},  {96, 200, 120}, {4096, 16, 16},
                                        {512, 64, 72}, {700, 129, 65}, {5000, 24, 40}};

Tensors both_gradients(const Tensor& a, const Tensor& b, bool transpose_a, DType product, DType sums, Shape shape) {
  return run_op_all("MatMulBiasGrad", {a, b},
                    {{"transpose_a", transpose_a},
                     {kResultType, AttributeValue(product)},
                     {"sums_dtype", AttributeValue(sums)},
                     {"sums_shape", shape}});
}

// That sums of `depth` numbers are the wanted ones. One of float32 loses up to half of its last bit at each step, in
// either direction.
void expect_close(const Tensor& seen, const std::vector<double>& wanted, std::int64_t depth, DType dtype) {
  const double lost = dtype == float64 ? 0 : 4 * std::sqrt(static_cast<double>(depth)) * 0x1p-24;
  const double share = std::max(lost, product_tolerance(dtype));
  const std::vector<double> values = ops::cast(seen, float64).to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  double largest = 1e-30, worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    const double distance = std::abs(values[i] - wanted[i]);
    worst = std::isnan(distance) ? HUGE_VAL : std::max(worst, distance);
  }
  EXPECT_LE(worst, share * largest);
}

// What both gradients are of the elements as they are stored, in double.
struct WantedGradients {
  std::vector<double> product, sums;
};
WantedGradients wanted_gradients(const GradientSizes& s, const Tensor& a, const Tensor& b, bool transpose_a) {
  const std::vector<double> left = ops::cast(a, float64).to_vector<double>(),
                            right = ops::cast(b, float64).to_vector<double>();
  WantedGradients wanted{std::vector<double>(static_cast<std::size_t>(s.m * s.n)),
                         std::vector<double>(static_cast<std::size_t>(s.n))};
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const double* flow = right.data() + row * s.n;
    for (std::int64_t j = 0; j < s.n; ++j) wanted.sums[static_cast<std::size_t>(j)] += flow[j];
    for (std::int64_t i = 0; i < s.m; ++i) {
      const double x = left[static_cast<std::size_t>(transpose_a ? row * s.m + i : i * s.rows + row)];
      double* to = wanted.product.data() + i * s.n;
      for (std::int64_t j = 0; j < s.n; ++j) to[j] += x * flow[j];
    }
  }
  return wanted;
}

COHORT_OP_REFERENCE(MatMulBiasGrad, product_and_sums, kFloats) {
  for (const GradientSizes& s : kGradientSizes) {
    for (const bool transpose_a : {true, false}) {
      SCOPED_TRACE(testing::Message() << s.rows << " rows of " << s.m << " and " << s.n << ", " << transpose_a);
      const Shape a_shape = transpose_a ? Shape{s.rows, s.m} : Shape{s.m, s.rows};
      const Tensor a = spread_tensor(a_shape, -1, 1, dtype, 1), b = spread_tensor({s.rows, s.n}, -1, 1, dtype, 2);
      const WantedGradients wanted = wanted_gradients(s, a, b, transpose_a);
      for (const DType wide : {dtype, is_half(dtype) ? float32 : dtype}) {
        const Tensors both = both_gradients(a, b, transpose_a, wide, wide, {s.n});
        EXPECT_EQ(both[0].spec(), (TensorSpec{wide, {s.m, s.n}}));
        EXPECT_EQ(both[1].spec(), (TensorSpec{wide, {s.n}}));
        expect_close(both[0], wanted.product, s.rows, dtype);
        expect_close(both[1], wanted.sums, s.rows, dtype);
      }
    }
  }
}

TEST(MatMulBiasGrad, types_and_shapes_of_their_own) {
  const Tensor a = spread_tensor({90, 300}, -1, 1, bfloat16, 1), b = spread_tensor({90, 96}, -1, 1, bfloat16, 2);
  const WantedGradients wanted = wanted_gradients({90, 300, 96}, a, b, true);
  for (const DType product : {bfloat16, float32}) {
    for (const DType sums : {bfloat16, float32}) {
      const Tensors both = both_gradients(a, b, true, product, sums, {12, 8});
      EXPECT_EQ(both[0].spec(), (TensorSpec{product, {300, 96}}));
      EXPECT_EQ(both[1].spec(), (TensorSpec{sums, {12, 8}}));
      expect_close(both[0], wanted.product, 90, bfloat16);
      expect_close(both[1], wanted.sums, 90, bfloat16);
    }
  }
}

// So large that a GPU tries out what the library has for it, more than once and each way of making sums. Others have
// nothing to try out.
TEST(MatMulBiasGrad, is_right_however_it_was_chosen) {
  const GradientSizes s =
      default_device().type() == "GPU" ? GradientSizes{1024, 768, 1024} : GradientSizes{64, 96, 1024};
  const bool before = op_determinism_enabled();
  for (const DType dtype : {bfloat16, float32}) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor a = spread_tensor({s.rows, s.m}, -1, 1, dtype, 1), b = spread_tensor({s.rows, s.n}, -1, 1, dtype, 2);
    const WantedGradients wanted = wanted_gradients(s, a, b, true);
    for (const bool same_bits : {true, false}) {
      enable_op_determinism(same_bits);
      // A shape of its own for each, since kernels that were made are kept.
      const Tensors both = both_gradients(a, b, true, float32, float32, same_bits ? Shape{32, 32} : Shape{s.n});
      expect_close(both[0], wanted.product, s.rows, dtype);
      expect_close(both[1], wanted.sums, s.rows, dtype);
    }
  }
  enable_op_determinism(before);
}

TEST(MatMulBiasGrad, refuses_what_does_not_fit) {
  const Tensor a = spread_tensor({4, 3}, -1, 1, float32), b = spread_tensor({4, 5}, -1, 1, float32);
  const auto refused = [&](const Tensor& left, const Tensor& right, DType product, DType sums, Shape shape,
                           const std::string& why) {
    expect_error([&] { both_gradients(left, right, true, product, sums, shape); }, {"MatMulBiasGrad:", why});
  };
  refused(a, b, float32, float32, {4}, "sums_shape");
  refused(a, b, float32, float32, {5, 1, 2}, "sums_shape");
  refused(a, b, float32, float64, {5}, "sums_dtype");
  refused(a, b, bfloat16, float32, {5}, "result_dtype");
  refused(a, ops::cast(b, bfloat16), float32, float32, {5}, "one floating type");
  refused(ops::cast(a, int32), ops::cast(b, int32), int32, int32, {5}, "one floating type");
  refused(a, spread_tensor({3, 5}, -1, 1, float32), float32, float32, {5}, "rows of b");
  refused(spread_tensor({2, 4, 3}, -1, 1, float32), b, float32, float32, {5}, "matrices");
}

}  // namespace
}  // namespace cohort::test
