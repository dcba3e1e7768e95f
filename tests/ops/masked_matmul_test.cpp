#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/op_determinism.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "tests/support/op_check.h"
#include "tests/support/same_products.h"

namespace cohort::test {
namespace {

const std::vector<DType> kMaskedTypes = {float16, bfloat16};

struct MaskedSizes {
  Shape a;
  std::int64_t columns;
};
// For a GPU's own kernels and for its library, with rows in one axis and in two, and none at all.
const MaskedSizes kMaskedSizes[] = {{{3, 5}, 128},   {{64, 16}, 256},    {{0, 4}, 128},
                                    {{5, 0}, 128},   {{2, 40, 72}, 384}, {{300, 200}, 128},
                                    {{97, 33}, 256}, {{512, 512}, 1024}, {{4, 64, 136}, 256}};

std::vector<double> doubles(const Tensor& tensor) { return ops::cast(tensor, float64).to_vector<double>(); }

// Whether the bit of element i is set: the first of eight is the lowest.
bool bit_of(const std::vector<std::uint8_t>& mask, std::size_t i) { return (mask[i / 8] >> i % 8 & 1) != 0; }

Tensor weight_of(const MaskedSizes& s, bool transposed, DType dtype) {
  const Shape shape = transposed ? Shape{s.columns, s.a.back()} : Shape{s.a.back(), s.columns};
  return spread_tensor(shape, -1, 1, dtype, 2);
}

// A mask of any bits.
Tensor any_bits(const MaskedSizes& s) {
  Shape shape = s.a;
  shape[shape.rank() - 1] = s.columns / 8;
  return ops::cast(spread_tensor(shape, 0, 255, float64, 4), uint8);
}

// The relu's result is that of the op without a mask, and the mask says which of it is positive.
void check_masked(const MaskedSizes& s, DType dtype, bool has_bias) {
  SCOPED_TRACE(s.a.to_string() + " to " + std::to_string(s.columns) + (has_bias ? " with a bias" : ""));
  const Tensor a = spread_tensor(s.a, -1, 1, dtype, 1), b = weight_of(s, false, dtype);
  Tensors inputs = {a, b};
  if (has_bias) inputs.push_back(spread_tensor({s.columns}, -1, 1, dtype, 3));
  const Tensors both = run_op_all("MaskedMatMul", inputs);
  const Tensor wanted = run_op("FusedMatMul", inputs, {{"activation", "Relu"}});
  ASSERT_EQ(both[0].spec(), wanted.spec());
  const std::vector<double> seen = doubles(both[0]);
  expect_same_product(seen, doubles(wanted), dtype);
  ASSERT_EQ(both[1].dtype(), uint8);
  ASSERT_EQ(both[1].shape().num_elements() * 8, both[0].shape().num_elements());
  const auto mask = both[1].to_vector<std::uint8_t>();
  int wrong = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) wrong += bit_of(mask, i) != (seen[i] > 0) ? 1 : 0;
  EXPECT_EQ(wrong, 0) << "of " << seen.size() << " bits";
}

// Elements whose bit is set are those of the product, the others 0.
void check_relu_grad(const MaskedSizes& s, DType dtype, bool transposed) {
  SCOPED_TRACE(s.a.to_string() + " to " + std::to_string(s.columns) + (transposed ? ", transposed" : ""));
  const Tensor a = spread_tensor(s.a, -1, 1, dtype, 1), b = weight_of(s, transposed, dtype), mask = any_bits(s);
  const Attributes attributes = {{"transpose_b", transposed}};
  const Tensor seen = run_op("MatMulReluGrad", {a, b, mask}, attributes), whole = run_op("MatMul", {a, b}, attributes);
  ASSERT_EQ(seen.spec(), whole.spec());
  std::vector<double> wanted = doubles(whole);
  const auto bits = mask.to_vector<std::uint8_t>();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!bit_of(bits, i)) wanted[i] = 0;
  }
  const std::vector<double> values = doubles(seen);
  expect_same_product(values, wanted, dtype);
  int left = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) left += !bit_of(bits, i) && values[i] != 0 ? 1 : 0;
  EXPECT_EQ(left, 0) << "of " << wanted.size() << " elements";
}

COHORT_OP_REFERENCE(MaskedMatMul, notes_what_is_positive, kMaskedTypes) {
  for (const MaskedSizes& s : kMaskedSizes) {
    for (const bool has_bias : {false, true}) check_masked(s, dtype, has_bias);
  }
}

COHORT_OP_REFERENCE(MatMulReluGrad, keeps_what_was_noted, kMaskedTypes) {
  for (const MaskedSizes& s : kMaskedSizes) {
    for (const bool transposed : {false, true}) check_relu_grad(s, dtype, transposed);
  }
}

// So large that a GPU tries out what the library has for them.
TEST(MaskedMatMul, is_right_however_it_was_chosen) {
  const bool before = op_determinism_enabled();
  enable_op_determinism(false);
  check_masked({{1024, 768}, 1024}, bfloat16, true);
  check_relu_grad({{1024, 768}, 1024}, bfloat16, true);
  enable_op_determinism(before);
}

TEST(MaskedMatMul, refuses_what_does_not_fit) {
  const Tensor a = spread_tensor({6, 4}, -1, 1, bfloat16), b = spread_tensor({4, 128}, -1, 1, bfloat16);
  const Tensor wide = ops::cast(a, float32), mask = ops::cast(spread_tensor({6, 16}, 0, 9), uint8);
  const auto refused = [](const char* op, const Tensors& inputs, const std::string& why) {
    expect_error([&] { run_op_all(op, inputs); }, {std::string(op) + ":", why});
  };
  refused("MaskedMatMul", {wide, ops::cast(b, float32)}, "half type");
  refused("MaskedMatMul", {a, spread_tensor({4, 72}, -1, 1, bfloat16)}, "multiple of 128");
  refused("MaskedMatMul", {a, b, spread_tensor({128}, -1, 1, float32)}, "bias");
  refused("MaskedMatMul", {a, b, spread_tensor({64}, -1, 1, bfloat16)}, "bias");
  refused("MaskedMatMul", {spread_tensor({2, 6, 4}, -1, 1, bfloat16), spread_tensor({2, 4, 128}, -1, 1, bfloat16)},
          "single");
  refused("MatMulReluGrad", {a, b, ops::cast(mask, int32)}, "mask");
  refused("MatMulReluGrad", {a, b, ops::cast(spread_tensor({6, 8}, 0, 9), uint8)}, "mask");
}

}  // namespace
}  // namespace cohort::test
