#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cohort/core/dispatch.h"
#include "cohort/ops/cast.h"
#include "tests/support/same_products.h"

namespace cohort::test {
namespace {

struct ProductSizes {
  std::int64_t batch, m, n, k;
};

// Products whose edges lie on and beside those of the squares that a GPU's blocks take, as deep as those blocks hold at
// once and beyond, and wide ones of little depth.
const ProductSizes kSmallSizes[] = {{1, 1, 1, 1},      {1, 64, 10, 10},    {1, 10, 10, 64},  {1, 3, 5, 7},
                                    {1, 16, 16, 16},   {1, 17, 33, 9},     {1, 4, 4, 4096},  {1, 5, 3, 1600},
                                    {1, 8, 8, 512},    {1, 128, 10, 1600}, {1, 40, 72, 129}, {1, 7, 250, 300},
                                    {6, 5, 9, 1025},   {3, 20, 17, 70},    {2, 1, 300, 257}, {1, 128, 1600, 10},
                                    {1, 17, 1021, 31}, {3, 33, 200, 32},   {2, 129, 131, 5}, {1, 48, 640, 33}};

// The same numbers between -1 and 1 in every run.
Tensor fixed_numbers(const Shape& shape, unsigned seed, DType dtype) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random() >> 8) / 8388608.0f - 1.0f;
  return ops::cast(Tensor::of(values, shape), dtype);
}

double activation_of(double x, const std::string& name) {
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "Tanh") return std::tanh(x);
  return x;
}

// act(a * b + bias) of the elements as they are stored, in double; and the largest number that an activation gets: no
// activation is steeper than 1, so that what was lost before it does not grow.
struct Reference {
  std::vector<double> values;
  double largest = 0;
};
Reference reference(const ProductSizes& s, const Tensor& a, const Tensor& b, const Tensor& bias, bool transpose_a,
                    bool transpose_b, const std::string& activation) {
  const std::vector<double> left = a.to_vector<double>(), right = b.to_vector<double>();
  const std::vector<double> added = bias.defined() ? bias.to_vector<double>() : std::vector<double>(s.n, 0.0);
  Reference result;
  const bool shared = b.rank() == 2;
  for (std::int64_t p = 0; p < s.batch; ++p) {
    const double *x = left.data() + p * s.m * s.k, *y = right.data() + (shared ? 0 : p * s.k * s.n);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = added[static_cast<std::size_t>(j)];
        for (std::int64_t d = 0; d < s.k; ++d) {
          sum += x[transpose_a ? d * s.m + i : i * s.k + d] * y[transpose_b ? j * s.k + d : d * s.n + j];
        }
        result.largest = std::max(result.largest, std::abs(sum));
        result.values.push_back(activation_of(sum, activation));
      }
    }
  }
  return result;
}

// A sum of float32 loses up to half of its last bit at each of `depth` steps, in either direction.
void expect_near_reference(const Tensor& seen, const Reference& expected, std::int64_t depth, DType dtype) {
  const double lost = 4 * std::sqrt(static_cast<double>(depth)) * 0x1p-24;
  const std::vector<double> values = seen.to_vector<double>();
  ASSERT_EQ(values.size(), expected.values.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = std::abs(values[i] - expected.values[i]);
    worst = std::isnan(distance) ? HUGE_VAL : std::max(worst, distance);
  }
  EXPECT_LE(worst, std::max(lost, product_tolerance(dtype)) * expected.largest);
}

class SmallProducts : public testing::TestWithParam<DType> {
 protected:
  static Tensor numbers(Shape shape, bool transposed, unsigned seed) {
    if (transposed) std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
    return fixed_numbers(shape, seed, GetParam());
  }
  static Shape batched(const ProductSizes& s, std::int64_t rows, std::int64_t columns) {
    return s.batch == 1 ? Shape{rows, columns} : Shape{s.batch, rows, columns};
  }
};

TEST_P(SmallProducts, AreRightAtEveryEdge) {
  for (const ProductSizes& s : kSmallSizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(testing::Message() << s.batch << " of " << s.m << " x " << s.n << " x " << s.k << ", transposed "
                                        << transpose_a << transpose_b);
        const Tensor a = numbers(batched(s, s.m, s.k), transpose_a, 1);
        const Tensor b = numbers(batched(s, s.k, s.n), transpose_b, 2);
        const Tensor c = run_op("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
        expect_near_reference(c, reference(s, a, b, {}, transpose_a, transpose_b, ""), s.k, GetParam());
      }
    }
  }
}

TEST_P(SmallProducts, TakeBiasAndActivation) {
  for (const ProductSizes& s : kSmallSizes) {
    for (const char* activation : {"", "Relu", "Sigmoid", "Tanh"}) {
      SCOPED_TRACE(testing::Message() << s.batch << " of " << s.m << " x " << s.n << " x " << s.k << " " << activation);
      const Tensor a = numbers(batched(s, s.m, s.k), false, 3), b = numbers({s.k, s.n}, false, 4);
      const Tensor bias = fixed_numbers({s.n}, 5, GetParam());
      const Tensor c = run_op("FusedMatMul", {a, b, bias}, {{"activation", activation}});
      expect_near_reference(c, reference(s, a, b, bias, false, false, activation), s.k, GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SmallProducts, testing::Values(float32, bfloat16, float16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace cohort::test
