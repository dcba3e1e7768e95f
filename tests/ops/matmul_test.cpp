#include "cohort/ops/matmul.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"
#include "tests/support/op_check.h"
#include "tests/support/patience.h"
#include "tests/support/same_products.h"

namespace cohort::test {
namespace {

using namespace ops;

// The product of two matrices, computed plainly.
std::vector<double> plain_product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                  std::int64_t n, std::int64_t k, bool ta, bool tb) {
  std::vector<double> c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += a[static_cast<std::size_t>(ta ? p * m + i : i * k + p)] *
               b[static_cast<std::size_t>(tb ? j * k + p : p * n + j)];
      }
      c.push_back(sum);
    }
  }
  return c;
}

COHORT_OP_REFERENCE(MatMul, small_numbers_every_way, kNumbers) {
  const std::vector<double> a = {1, 2, 3, 1, 0, 2}, b = {2, 1, 0, 1, 3, 1};
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Shape a_shape = ta ? Shape{3, 2} : Shape{2, 3}, b_shape = tb ? Shape{2, 3} : Shape{3, 2};
      expect_tensor(matmul(tensor_of(a, a_shape, dtype), tensor_of(b, b_shape, dtype), ta, tb), dtype, {2, 2},
                    plain_product(a, b, 2, 2, 3, ta, tb));
    }
  }
}
// Few rows, few columns, one panel and many, sizes beside those of tiles, more depth than a part of it.
constexpr std::int64_t kSizes[][3] = {{1, 1, 1},    {1, 7, 3},       {5, 9, 17},      {64, 10, 10},  {10, 10, 64},
                                      {33, 31, 8},  {97, 65, 129},   {128, 10, 512},  {250, 130, 0}, {3, 500, 2},
                                      {0, 4, 5},    {300, 310, 290}, {1, 300, 700},   {8, 129, 513}, {25, 200, 1},
                                      {24, 97, 31}, {200, 33, 300},  {131, 70, 1030}, {40, 390, 700}};

TEST(MatMul, sizes_and_transposes) {
  for (const auto& [m, n, k] : kSizes) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        const std::vector<double> a = spread_values(m * k, -1, 1, 1), b = spread_values(k * n, -1, 1, 2);
        const std::vector<double> want = plain_product(a, b, m, n, k, ta, tb);
        const Shape a_shape = ta ? Shape{k, m} : Shape{m, k}, b_shape = tb ? Shape{n, k} : Shape{k, n};
        SCOPED_TRACE(a_shape.to_string() + b_shape.to_string());
        expect_values(matmul(tensor_of(a, a_shape), tensor_of(b, b_shape), ta, tb), want, 1e-12);
        expect_values(matmul(tensor_of(a, a_shape, float32), tensor_of(b, b_shape, float32), ta, tb), want, 5e-5);
      }
    }
  }
}
// Inputs that the type holds exactly, so that only the result is rounded.
TEST(MatMul, half_types_have_float_sums) {
  for (const auto& [m, n, k] : kSizes) {
    std::vector<double> a = spread_values(m * k, -8, 8, 1), b = spread_values(k * n, -8, 8, 2);
    for (double& value : a) value = std::round(value) / 8;
    for (double& value : b) value = std::round(value) / 8;
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        const std::vector<double> want = plain_product(a, b, m, n, k, ta, tb);
        const Shape a_shape = ta ? Shape{k, m} : Shape{m, k}, b_shape = tb ? Shape{n, k} : Shape{k, n};
        SCOPED_TRACE(a_shape.to_string() + b_shape.to_string());
        for (DType dtype : {float16, bfloat16}) {
          const Tensor result = matmul(tensor_of(a, a_shape, dtype), tensor_of(b, b_shape, dtype), ta, tb);
          EXPECT_EQ(cast(result, float64).to_vector<double>(),
                    cast(cast(tensor_of(want, {m, n}), dtype), float64).to_vector<double>());
        }
      }
    }
  }
}
TEST(MatMul, same_bits_for_any_number_of_threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  const std::int64_t sizes[][3] = {{300, 500, 400}, {2000, 10, 300}, {7, 3000, 200},
                                   {1500, 50, 40},  {257, 129, 900}, {96, 400, 1100}};
  std::vector<int> thread_counts{1, 3};
  if (kTimesSlower == 1) thread_counts = {1, 2, 3, 5, 8, 16};  // minutes under a sanitizer
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    for (const auto& [m, n, k] : sizes) {
      for (bool ta : {false, true}) {
        for (bool tb : {false, true}) {
          const Tensor a = spread_tensor(ta ? Shape{k, m} : Shape{m, k}, -1, 1, dtype, 1);
          const Tensor b = spread_tensor(tb ? Shape{n, k} : Shape{k, n}, -1, 1, dtype, 2);
          std::vector<double> first;
          for (int threads : thread_counts) {
            pool.set_threads(threads);
            const std::vector<double> result = cast(matmul(a, b, ta, tb), float64).to_vector<double>();
            if (threads == 1) first = result;
            EXPECT_TRUE(result == first) << a.shape().to_string() << b.shape().to_string() << ", " << threads;
          }
        }
      }
    }
  }
  pool.set_threads(before);
}
// A row of c does not depend on how many others are computed beside it.
TEST(MatMul, a_row_alone_has_the_bits_it_has_among_others) {
  const Tensor a = spread_tensor({130, 300}, -1, 1, float32, 1), b = spread_tensor({300, 70}, -1, 1, float32, 2);
  const std::vector<float> all = matmul(a, b).to_vector<float>();
  for (std::int64_t rows : {1, 3, 30}) {
    const std::vector<float> some = matmul(slice(a, {0, 0}, {rows, 300}), b).to_vector<float>();
    expect_same_product(some, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some.size())}, float32);
  }
}
TEST(MatMul, vectors_and_batches_as_numpy) {
  const Tensor v = tensor_of({1, 2, 3}, {3}), m = tensor_of({1, 0, 0, 1, 1, 1}, {3, 2});
  expect_tensor(matmul(v, v), float64, {}, {14});
  expect_tensor(matmul(v, m), float64, {2}, {4, 5});
  expect_tensor(matmul(transpose(m), v), float64, {2}, {4, 5});
  expect_tensor(dot(v, v), float64, {}, {14});
  EXPECT_EQ(matmul(spread({2, 1, 3, 4}), spread({5, 4, 6})).shape(), (Shape{2, 5, 3, 6}));
  EXPECT_EQ(matmul(spread({2, 3, 4}), spread({4, 6})).shape(), (Shape{2, 3, 6}));
  EXPECT_EQ(matmul(tensor_of({1}, {1, 1}, int32), tensor_of({1}, {1, 1}, float32)).dtype(), float32);
  const Tensor a = spread({2, 3, 4}, 1), b = spread({1, 4, 2}, 2);
  std::vector<double> want;
  for (std::int64_t i = 0; i < 2; ++i) {
    const std::vector<double> values = a.to_vector<double>();
    const auto part = plain_product({values.begin() + i * 12, values.begin() + i * 12 + 12}, b.to_vector<double>(), 3,
                                    2, 4, false, false);
    want.insert(want.end(), part.begin(), part.end());
  }
  expect_tensor(matmul(a, b), float64, {2, 3, 2}, want);
}
COHORT_OP_GRADIENT(MatMul, every_way) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Shape a = ta ? Shape{3, 2} : Shape{2, 3}, b = tb ? Shape{4, 3} : Shape{3, 4};
      check_gradient([=](const Tensors& x) { return matmul(x[0], x[1], ta, tb); }, {spread(a, 1), spread(b, 2)});
      const Shape batch_a = ta ? Shape{2, 3, 2} : Shape{2, 2, 3}, batch_b = tb ? Shape{1, 4, 3} : Shape{1, 3, 4};
      check_gradient([=](const Tensors& x) { return matmul(x[0], x[1], ta, tb); },
                     {spread(batch_a, 1), spread(batch_b, 2)});
      check_gradient([=](const Tensors& x) { return matmul(x[0], x[1], ta, tb); }, {spread(batch_a, 1), spread(b, 2)});
    }
  }
}
TEST(MatMul, refuses_what_does_not_fit) {
  expect_error(
      [] {
        matmul(spread({2, 3}), spread({2, 3}));
      },
      {"MatMul:", "columns of a", "a.shape=(2, 3), b.shape=(2, 3)"});
  expect_error([] { matmul(spread({2, 2, 3}), spread({3, 3, 3})); }, {"MatMul:", "broadcast"});
}

TEST(TensorDot, axes_by_name_and_by_count) {
  const Tensor a = spread({2, 3, 4}, 1), b = spread({4, 3, 5}, 2);
  const Tensor by_name = tensordot(a, b, {1, 2}, {1, 0});
  EXPECT_EQ(by_name.shape(), (Shape{2, 5}));
  const Tensor swapped = transpose(a, {0, 2, 1});
  expect_values(tensordot(swapped, b, 2), by_name.to_vector<double>(), 1e-12);
  expect_values(matmul(reshape(swapped, {2, 12}), reshape(b, {12, 5})), by_name.to_vector<double>(), 1e-12);
  EXPECT_EQ(tensordot(a, b, 0).shape(), (Shape{2, 3, 4, 4, 3, 5}));
  check_gradient([](const Tensors& x) { return tensordot(x[0], x[1], {1}, {0}); },
                 {spread({2, 3}, 1), spread({3, 2, 2}, 2)});
}

COHORT_OP_REFERENCE(FusedMatMul, same_bits_as_its_parts, kFloats) {
  const Tensor bias = spread_tensor({37}, -1, 1, dtype, 3);
  for (const Shape& shape : {Shape{5, 20}, Shape{130, 300}}) {
    const Tensor a = spread_tensor(shape, -1, 1, dtype, 1), b = spread_tensor({shape[1], 37}, -1, 1, dtype, 2);
    for (const char* activation : {"", "Relu", "Relu6", "Sigmoid", "Tanh", "Softplus"}) {
      Tensor parts = matmul(a, b) + bias;
      if (*activation) parts = run_op(activation, {parts});
      const Tensor fused = run_op("FusedMatMul", {a, b, bias}, {{"activation", activation}});
      SCOPED_TRACE(activation);
      expect_same_product(fused.to_vector<double>(), parts.to_vector<double>(), dtype);
    }
  }
}
TEST(FusedMatMul, refuses_a_bias_of_another_size) {
  expect_error([] { run_op("FusedMatMul", {spread({2, 3}), spread({3, 4}), spread({3})}); }, {"FusedMatMul:", "bias"});
}

}  // namespace
}  // namespace cohort::test
