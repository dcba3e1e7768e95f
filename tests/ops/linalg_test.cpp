#include "cohort/ops/linalg.h"

#include <cmath>
#include <limits>

#include "cohort/core/thread_pool.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;
namespace la = ops::linalg;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// Close enough for numbers that a decomposition went through.
double loose(DType dtype) { return 20 * tolerance(dtype); }
void expect_near(const Tensor& got, DType dtype, const Shape& shape, const std::vector<double>& want) {
  EXPECT_EQ(got.dtype(), dtype);
  EXPECT_EQ(got.shape(), shape);
  expect_values(got, want, loose(dtype));
}
void expect_identity(const Tensor& x, double within = 1e-12) {
  const std::int64_t size = x.shape().back();
  std::vector<double> want(static_cast<std::size_t>(x.num_elements()), 0.0);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) % (size * size);
    want[i] = at / size == at % size ? 1.0 : 0.0;
  }
  expect_values(x, want, within);
}
Tensor with_axes_swapped(const Tensor& x) { return swapaxes(x, -2, -1); }

const Tensor& tall() {
  static const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2});
  return x;
}
const Tensor& singular() {
  static const Tensor x = tensor_of({1, 2, 2, 4}, {2, 2});
  return x;
}

COHORT_OP_REFERENCE(Cholesky, lower_and_upper, kFloats) {
  const Tensor x = tensor_of({4, 12, -16, 12, 37, -43, -16, -43, 98}, {3, 3}, dtype);
  expect_near(la::cholesky(x), dtype, {3, 3}, {2, 0, 0, 6, 1, 0, -8, 5, 3});
  expect_near(la::cholesky(x, true), dtype, {3, 3}, {2, 6, -8, 0, 1, 5, 0, 0, 3});
}
TEST(Cholesky, reads_the_lower_triangle_of_each_matrix_of_a_batch) {
  const Tensor x = tensor_of({4, 99, 2, 10, 1, -7, 0, 1}, {2, 2, 2});
  expect_near(cholesky(x), float64, {2, 2, 2}, {2, 0, 1, 3, 1, 0, 0, 1});
}
TEST(Cholesky, refuses_what_is_not_positive_definite_and_names_the_matrix) {
  const std::vector<std::string> parts = {"Cholesky:", "positive definite", "matrix of the batch=1"};
  expect_error([] { la::cholesky(tensor_of({1, 0, 0, 1, 1, 2, 2, 4}, {2, 2, 2})); }, parts);
  expect_error([] { la::cholesky(tensor_of({1, 0, 0, 1, kNotANumber, 0, 0, 1}, {2, 2, 2})); }, parts);
  expect_error([] { la::cholesky(tensor_of({1, 0, 0, 1, -1, 0, 0, 1}, {2, 2, 2})); }, parts);
  expect_error([] { la::cholesky(tall()); }, {"Cholesky:", "square", "(3, 2)"});
  expect_error([] { la::cholesky(tensor_of({1, 2}, {2})); }, {"Cholesky:", "two axes or more", "(2,)"});
}
TEST(CholeskyInverse, is_the_inverse_of_the_matrix_behind_the_factor) {
  const Tensor lower = tensor_of({2, 0, 1, 3}, {2, 2}), upper = tensor_of({2, 1, 0, 3}, {2, 2});
  const std::vector<double> want = {10.0 / 36, -2.0 / 36, -2.0 / 36, 4.0 / 36};
  expect_near(la::cholesky_inverse(lower), float64, {2, 2}, want);
  expect_near(la::cholesky_inverse(upper, true), float64, {2, 2}, want);
}

COHORT_OP_REFERENCE(Det, of_a_batch, kFloats) {
  expect_near(la::det(tensor_of({2, 5, 1, 3, 0, 1, 1, 0, 1, 2, 2, 4}, {3, 2, 2}, dtype)), dtype, {3}, {1, -1, 0});
  expect_near(la::det(tensor_of({}, {0, 0}, dtype)), dtype, {}, {1});
}
COHORT_OP_REFERENCE(Slogdet, sign_and_logarithm, kFloats) {
  const Slogdet found = slogdet(tensor_of({0, 2, 3, 0, 1, 2, 2, 4, 2, 0, 0, 2}, {3, 2, 2}, dtype));
  expect_near(found.sign, dtype, {3}, {-1, 0, 1});
  expect_near(found.logabsdet, dtype, {3}, {std::log(6.0), -std::numeric_limits<double>::infinity(), std::log(4.0)});
}
TEST(Logdet, is_nan_where_the_matrix_is_not_positive_definite) {
  const Tensor x = tensor_of({4, 2, 2, 10, -1, 0, 0, -1}, {2, 2, 2});
  expect_near(logdet(x), float64, {2}, {std::log(36.0), kNotANumber});
  const Tensor large = tensor_of({1e30, 0, 0, 1e30}, {2, 2}, float32);
  expect_near(logdet(large), float32, {}, {138.15510557964274});
  expect_near(slogdet(large).logabsdet, float32, {}, {138.15510557964274});
}

COHORT_OP_REFERENCE(Inv, of_a_batch, kFloats) {
  const Tensor x = tensor_of({4, 7, 2, 6, 1, 0, 0, 2}, {2, 2, 2}, dtype);
  expect_near(la::inv(x), dtype, {2, 2, 2}, {0.6, -0.7, -0.2, 0.4, 1, 0, 0, 0.5});
}
TEST(Inv, of_a_large_matrix_gives_the_identity) {
  const Tensor x = spread({3, 70, 70});
  expect_identity(matmul(la::inv(x), x), 1e-10);
}
TEST(Inv, refuses_a_singular_matrix_and_passes_nan_on) {
  expect_error([] { la::inv(singular()); }, {"Inv:", "invertible"});
  expect_error([] { la::inv(tall()); }, {"Inv:", "square", "(3, 2)"});
  expect_values(la::inv(tensor_of({1, kNotANumber, 2, 4}, {2, 2})),
                {kNotANumber, kNotANumber, kNotANumber, kNotANumber}, 0);
}
TEST(Inv, of_integers_is_float32) {
  expect_near(la::inv(tensor_of({1, 0, 0, 2}, {2, 2}, int32)), float32, {2, 2}, {1, 0, 0, 0.5});
}

COHORT_OP_REFERENCE(Eigh, smallest_first, kFloats) {
  const Tensor x = tensor_of({2, 99, 1, 2}, {2, 2}, dtype);  // the upper triangle is not read
  const la::Eigh found = la::eigh(x);
  expect_near(found.w, dtype, {2}, {1, 3});
  expect_near(found.v * found.v, dtype, {2, 2}, {0.5, 0.5, 0.5, 0.5});
}
TEST(Eigh, puts_the_matrix_together_again) {
  const Tensor half = spread({4, 9, 9}), x = half + with_axes_swapped(half);
  const auto [w, v] = la::eigh(x);
  expect_values(matmul(v * expand_dims(w, -2), v, false, true), x.to_vector<double>(), 1e-12);
  expect_identity(matmul(v, v, true));
}
TEST(Eigh, has_keras_signs) {
  const la::Eigh found = la::eigh(tensor_of({2, -1, 0, -1, 2, -1, 0, -1, 2}, {3, 3}));
  const double root = std::sqrt(0.5);
  expect_near(found.w, float64, {3}, {2 - std::sqrt(2.0), 2, 2 + std::sqrt(2.0)});
  expect_near(found.v, float64, {3, 3}, {-0.5, -root, 0.5, -root, 0, -root, -0.5, root, 0.5});
}
TEST(Eigh, refuses_what_has_no_eigenvalues) {
  expect_error([] { la::eigh(tensor_of({kNotANumber, 0, 0, 1}, {2, 2})); }, {"Eigh:", "finite"});
  expect_error([] { la::eigh(tall()); }, {"Eigh:", "square"});
}

COHORT_OP_REFERENCE(LuFactor, pivots_say_where_rows_went, kFloats) {
  const la::LuFactor found = la::lu_factor(tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 10}, {3, 3}, dtype));
  const double s = 1.0 / 7;
  expect_near(found.lu, dtype, {3, 3}, {7, 8, 10, s, 6 * s, 11 * s, 4 * s, 0.5, -0.5});
  expect_tensor(found.pivots, int32, {3}, {1, 2, 0});
  expect_error([&] { la::lu_factor(singular()); }, {"LuFactor:", "invertible"});
}

COHORT_OP_REFERENCE(Qr, reduced_and_complete, kFloats) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}, dtype);
  const std::vector<double> q = {-0.16903085094570325, 0.8970852271450607,  0.40824829046386274,
                                 -0.50709255283711,    0.27602622373694136, -0.8164965809277261,
                                 -0.8451542547285166,  -0.345032779671177,  0.40824829046386313};
  const std::vector<double> r = {-5.916079783099615, -7.437357441610946, 0.0, 0.8280786712108248, 0.0, 0.0};
  const la::Qr reduced = la::qr(x), complete = la::qr(x, "complete");
  expect_near(reduced.q, dtype, {3, 2}, {q[0], q[1], q[3], q[4], q[6], q[7]});
  expect_near(reduced.r, dtype, {2, 2}, {r[0], r[1], r[2], r[3]});
  expect_near(complete.q, dtype, {3, 3}, q);
  expect_near(complete.r, dtype, {3, 2}, r);
}
TEST(Qr, puts_matrices_of_every_form_together_again) {
  for (const Shape& shape : {Shape{2, 7, 3}, Shape{2, 3, 7}, Shape{2, 5, 5}, Shape{60, 50}}) {
    for (const char* mode : {"reduced", "complete"}) {
      const Tensor x = spread(shape);
      const auto [q, r] = la::qr(x, mode);
      expect_values(matmul(q, r), x.to_vector<double>(), 1e-13);
      expect_identity(matmul(q, q, true));
    }
  }
  expect_error([] { la::qr(tall(), "raw"); }, {"qr:", "'reduced' or 'complete'", "raw"});
}

COHORT_OP_REFERENCE(Svd, values_and_vectors, kFloats) {
  const Tensor x = tensor_of({3, 0, 4, 5}, {2, 2}, dtype);
  const la::Svd found = la::svd(x);
  expect_near(found.s, dtype, {2}, {std::sqrt(45.0), std::sqrt(5.0)});
  expect_near(found.u * found.u, dtype, {2, 2}, {0.1, 0.9, 0.9, 0.1});
  expect_near(found.vh * found.vh, dtype, {2, 2}, {0.5, 0.5, 0.5, 0.5});
  const la::Svd values = la::svd(x, true, false);
  expect_near(values.s, dtype, {2}, {std::sqrt(45.0), std::sqrt(5.0)});
  EXPECT_FALSE(values.u.defined() || values.vh.defined());
}
TEST(Svd, puts_matrices_of_every_form_together_again) {
  for (const Shape& shape : {Shape{2, 7, 3}, Shape{2, 3, 7}, Shape{2, 5, 5}, Shape{40, 60}}) {
    const Tensor x = spread(shape);
    const auto [u, s, vh] = la::svd(x, false);
    expect_values(matmul(u * expand_dims(s, -2), vh), x.to_vector<double>(), 1e-12);
    expect_identity(matmul(u, u, true));
    expect_identity(matmul(vh, vh, false, true));
    const la::Svd full = la::svd(x);
    EXPECT_EQ(full.u.shape().back(), shape.dim(-2));
    EXPECT_EQ(full.vh.shape().dim(-2), shape.dim(-1));
    expect_identity(matmul(full.u, full.u, true));
    expect_identity(matmul(full.vh, full.vh, false, true));
  }
}
TEST(Svd, of_nan_is_nan) {
  const la::Svd found = la::svd(tensor_of({1, kNotANumber, 2, 4, 3, 0, 4, 5}, {2, 2, 2}), false, false);
  expect_values(found.s, {kNotANumber, kNotANumber, std::sqrt(45.0), std::sqrt(5.0)}, 1e-13);
}

COHORT_OP_REFERENCE(Solve, matrices_and_vectors, kFloats) {
  const Tensor a = tensor_of({3, 2, 1, 2}, {2, 2}, dtype);
  expect_near(la::solve(a, tensor_of({2, 0}, {2}, dtype)), dtype, {2}, {1, -0.5});
  expect_near(la::solve(a, tensor_of({2, 5, 0, 3}, {2, 2}, dtype)), dtype, {2, 2}, {1, 1, -0.5, 1});
}
TEST(Solve, broadcasts_leading_axes) {
  const Tensor a = spread({2, 1, 3, 3}), b = spread({1, 4, 3, 2}, 2);
  const Tensor x = la::solve(a, b);
  EXPECT_EQ(x.shape(), (Shape{2, 4, 3, 2}));
  expect_values(matmul(a, x), broadcast_to(b, {2, 4, 3, 2}).to_vector<double>(), 1e-12);
  const Tensor vectors = la::solve(spread({2, 3, 3}), spread({2, 3}, 2));
  EXPECT_EQ(vectors.shape(), (Shape{2, 3}));
}
TEST(Solve, says_what_is_wrong) {
  expect_error([] { la::solve(singular(), singular()); }, {"Solve:", "invertible"});
  expect_error([] { la::solve(tall(), tall()); }, {"Solve:", "square", "(3, 2)"});
  expect_error([] { la::solve(singular(), tall()); }, {"Solve:", "same number of rows", "(2, 2)", "(3, 2)"});
  expect_error([] { la::solve(spread({2, 3, 3}), spread({4, 3, 1})); }, {"Solve:"});
}

COHORT_OP_REFERENCE(SolveTriangular, reads_one_triangle, kFloats) {
  const Tensor a = tensor_of({2, 1, 99, 4}, {2, 2}, dtype), b = tensor_of({4, 8}, {2}, dtype);
  expect_near(la::solve_triangular(a, b), dtype, {2}, {1, 2});
  expect_near(la::solve_triangular(with_axes_swapped(a), b, true), dtype, {2}, {2, 1.5});
  const Tensor zero = tensor_of({1, 2, 0, 0}, {2, 2}, dtype);
  const double inf = std::numeric_limits<double>::infinity();
  expect_values(la::solve_triangular(zero, tensor_of({1, 2}, {2}, dtype)), {-inf, inf}, 0);
}

COHORT_OP_REFERENCE(Lstsq, fits_a_line, kFloats) {
  const Tensor a = tensor_of({1, 0, 1, 1, 1, 2}, {3, 2}, dtype);
  expect_near(la::lstsq(a, tensor_of({6, 0, 0}, {3}, dtype)), dtype, {2}, {5, -3});
  expect_near(la::lstsq(a, tensor_of({6, 1, 0, 2, 0, 3}, {3, 2}, dtype)), dtype, {2, 2}, {5, 1, -3, 1});
}
TEST(Lstsq, takes_the_smallest_of_several_solutions) {
  expect_near(la::lstsq(tensor_of({1, 1}, {1, 2}), tensor_of({4}, {1})), float64, {2}, {2, 2});
  expect_near(la::lstsq(singular(), tensor_of({5, 10}, {2})), float64, {2}, {1, 2});
  expect_near(la::lstsq(tensor_of({4, 0, 0, 1}, {2, 2}), tensor_of({4, 1}, {2}), 0.5), float64, {2}, {1, 0});
  expect_values(la::lstsq(tensor_of({0, 0, 0, 0}, {2, 2}), tensor_of({4, 1}, {2})), {0, 0}, 0);
}
TEST(Lstsq, of_a_batch_and_of_wrong_shapes) {
  const Tensor a = spread({3, 5, 2}), b = spread({3, 5}, 2);
  const Tensor normal = matmul(la::solve(matmul(a, a, true), with_axes_swapped(a)), expand_dims(b, -1));
  expect_values(la::lstsq(a, b), normal.to_vector<double>(), 1e-11);
  expect_error([&] { la::lstsq(a, spread({3, 4, 1})); }, {"Lstsq:", "same number of rows"});
  expect_error([&] { la::lstsq(a, spread({2, 5, 1})); }, {"Lstsq:", "leading axes", "(3, 5, 2)"});
}

COHORT_OP_REFERENCE(Pinv, of_full_and_of_less_rank, kFloats) {
  const double third = 1.0 / 3, twelfth = 1.0 / 12;
  expect_near(la::pinv(tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}, dtype)), dtype, {2, 3},
              {-4 * third, -third, 2 * third, 13 * twelfth, third, -5 * twelfth});
  expect_near(la::pinv(tensor_of({1, 2, 2, 4}, {2, 2}, dtype)), dtype, {2, 2}, {0.04, 0.08, 0.08, 0.16});
  expect_near(la::pinv(tensor_of({4, 0, 0, 1}, {2, 2}, dtype), 0.5), dtype, {2, 2}, {0.25, 0, 0, 0});
}

TEST(MatrixRank, counts_singular_values_over_a_bound) {
  const Tensor x = tensor_of({1, 2, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0}, {3, 2, 2}, float32);
  expect_tensor(la::matrix_rank(x), int32, {3}, {1, 2, 0});
  expect_tensor(la::matrix_rank(x, 2.0), int32, {3}, {1, 0, 0});
  check_traced([](const Tensors& t) { return la::matrix_rank(t[0]); }, {x});
}

TEST(Norm, of_vectors) {
  const Tensor x = tensor_of({3, -4, 0, 1, 2, -2}, {2, 3});
  const double inf = std::numeric_limits<double>::infinity();
  expect_near(la::norm(x), float64, {}, {std::sqrt(34.0)});
  expect_near(la::norm(x, {}, 1), float64, {2}, {5, 3});
  expect_near(la::norm(x, 2, 1, true), float64, {2, 1}, {5, 3});
  expect_near(la::norm(x, 1, -1), float64, {2}, {7, 5});
  expect_near(la::norm(x, 0, -1), float64, {2}, {2, 3});
  expect_near(la::norm(x, inf, -1), float64, {2}, {4, 2});
  expect_near(la::norm(x, -inf, -1), float64, {2}, {0, 1});
  expect_near(norm(x, 3, -1), float64, {2}, {std::cbrt(91.0), std::cbrt(17.0)});
  expect_near(norm(spread({2, 2, 2}) * 0.0 + 1.0), float64, {}, {std::sqrt(8.0)});
}
TEST(Norm, of_matrices) {
  const Tensor x = reshape(tensor_of({3, 0, 4, 5}, {2, 2}), {2, 1, 2});  // rows on axis 0, columns on axis 2
  const ops::Axes axes({0, 2});
  const double inf = std::numeric_limits<double>::infinity(), large = std::sqrt(45.0), small = std::sqrt(5.0);
  expect_near(la::norm(x, "fro", axes), float64, {1}, {std::sqrt(50.0)});
  expect_near(la::norm(x, "nuc", axes), float64, {1}, {large + small});
  expect_near(la::norm(x, 2, axes), float64, {1}, {large});
  expect_near(la::norm(x, -2, axes, true), float64, {1, 1, 1}, {small});
  expect_near(la::norm(x, 1, axes), float64, {1}, {7});
  expect_near(la::norm(x, -1, axes), float64, {1}, {5});
  expect_near(la::norm(x, inf, axes), float64, {1}, {9});
  expect_near(la::norm(x, -inf, axes, true), float64, {1, 1, 1}, {3});
  expect_error([&] { la::norm(x, 3, axes); }, {"norm:", "'nuc'", "ord=3"});
  expect_error([&] { la::norm(x, "max", axes); }, {"norm:", "'nuc'", "ord=max"});
  expect_error([&] { la::norm(x, "nuc", 0); }, {"norm:", "two", "nuc"});
  expect_error([&] { la::norm(x, 1, {0, 1, 2}); }, {"norm:", "axes=3"});
}

TEST(Linalg, bits_do_not_depend_on_threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int threads = pool.threads();
  const Tensor x = spread_tensor({301, 6, 6}, -1, 1, float32);
  std::vector<std::vector<float>> results;
  for (int each : {1, 2, 4}) {
    pool.set_threads(each);
    std::vector<float>& bits = results.emplace_back();
    for (const Tensor& result : {la::inv(x), la::qr(x).q, la::eigh(x).v, la::svd(x).u, la::pinv(x), la::solve(x, x)}) {
      const std::vector<float> more = result.to_vector<float>();
      bits.insert(bits.end(), more.begin(), more.end());
    }
  }
  pool.set_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace cohort::test
