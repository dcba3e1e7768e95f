#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;
namespace la = ops::linalg;

Tensor transposed_of(const Tensor& x) { return swapaxes(x, -2, -1); }
// Matrices far from singular, and symmetric ones that are positive definite, of any matrices.
Tensor far_from_singular(const Shape& shape, unsigned seed = 1) {
  return spread(shape, seed) + 3.0 * eye(shape.dim(-2), shape.dim(-1), 0, float64);
}
Tensor positive(const Tensor& x) { return matmul(x, x, false, true); }
Tensor symmetric(const Tensor& x) { return x + transposed_of(x); }
// Everything that flows out of a decomposition as one tensor; squares hide the signs, which are free.
Tensor joined(const Tensors& parts) {
  Tensors rows;
  for (const Tensor& part : parts) rows.push_back(merge_axes(part, 1, part.rank() - 1));
  return concatenate(rows, -1);
}

const Tensor& squares() {
  static const Tensor x = far_from_singular({2, 3, 3});
  return x;
}

COHORT_OP_GRADIENT(Cholesky, of_symmetric_matrices) {
  check_gradient([](const Tensors& x) { return la::cholesky(positive(x[0])); }, {squares()}, {.tolerance = 1e-5});
  check_gradient([](const Tensors& x) { return la::cholesky(positive(x[0]), true); }, {far_from_singular({3, 3})},
                 {.tolerance = 1e-5});
}
TEST(Cholesky, gradient_is_symmetric) {
  const Tensor x = positive(far_from_singular({3, 3}));
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = tape.gradient(la::cholesky(x), x);
  expect_values(transposed_of(dx), dx.to_vector<double>(), 1e-14);
}
TEST(CholeskyInverse, gradient_of_the_factor) {
  check_gradient([](const Tensors& x) { return la::cholesky_inverse(x[0]); }, {squares()}, {.tolerance = 1e-5});
  check_gradient([](const Tensors& x) { return la::cholesky_inverse(x[0], true); }, {squares()}, {.tolerance = 1e-5});
}

COHORT_OP_GRADIENT(Det, of_a_batch) {
  check_gradient([](const Tensors& x) { return la::det(x[0]); }, {squares()}, {.tolerance = 1e-5});
  check_gradient([](const Tensors& x) { return la::det(x[0]); }, {far_from_singular({4, 4})}, {.tolerance = 1e-5});
}
COHORT_OP_GRADIENT(Slogdet, of_the_logarithm) {
  check_gradient([](const Tensors& x) { return slogdet(x[0]).logabsdet; }, {squares()});
  check_gradient([](const Tensors& x) { return slogdet(x[0]).sign; }, {squares()}, {.second_order = false});
  check_gradient([](const Tensors& x) { return logdet(positive(x[0])); }, {squares()}, {.tolerance = 1e-5});
}
COHORT_OP_GRADIENT(Inv, of_a_batch) {
  check_gradient([](const Tensors& x) { return la::inv(x[0]); }, {squares()});
  check_gradient([](const Tensors& x) { return la::inv(x[0]); }, {far_from_singular({3, 3})});
}
TEST(Det, gradient_of_a_singular_matrix_is_an_error) {
  const Tensor x = tensor_of({1, 2, 2, 4}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = la::det(x);
  expect_error([&] { tape.gradient(y, x); }, {"Inv:", "invertible"});
}

COHORT_OP_GRADIENT(Eigh, of_values_and_vectors) {
  const auto both = [](const Tensors& x) {
    const auto [w, v] = la::eigh(symmetric(x[0]));
    return joined({w, square(v)});
  };
  check_gradient(both, {spread({2, 3, 3})}, {.tolerance = 1e-4});
  check_gradient([](const Tensors& x) { return la::eigh(symmetric(x[0])).w; }, {spread({4, 4})}, {.tolerance = 1e-5});
}
TEST(Eigh, gradient_of_the_lower_triangle_is_all_there_is) {
  check_gradient([](const Tensors& x) { return square(la::eigh(x[0]).v); }, {spread({2, 3, 3})}, {.tolerance = 1e-4});
}
TEST(Eigh, gradient_of_equal_eigenvalues_is_finite) {
  const Tensor x = tensor_of({2, 0, 0, 2}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  expect_values(tape.gradient(la::eigh(x).w, x), {1, 0, 0, 1}, 1e-14);
}

COHORT_OP_GRADIENT(LuFactor, of_both_triangles) {
  check_gradient([](const Tensors& x) { return la::lu_factor(x[0]).lu; }, {spread({2, 3, 3})}, {.tolerance = 1e-4});
}

COHORT_OP_GRADIENT(Qr, of_every_form) {
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 3, 3}, Shape{2, 2, 4}}) {
    const auto both = [](const Tensors& x) {
      const auto [q, r] = la::qr(x[0]);
      return joined({q, r});
    };
    check_gradient(both, {far_from_singular(shape)}, {.tolerance = 1e-5});
  }
  check_gradient([](const Tensors& x) { return la::qr(x[0], "complete").q; }, {squares()}, {.tolerance = 1e-5});
}
TEST(Qr, gradient_that_is_not_defined_is_an_error) {
  const Tensor x = spread({4, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor q = la::qr(x, "complete").q;
  expect_error([&] { tape.gradient(q, x); }, {"gradient of Qr", "'complete'", "Take mode 'reduced'."});
}

COHORT_OP_GRADIENT(Svd, of_every_form) {
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 3, 3}, Shape{2, 2, 4}}) {
    const std::vector<double> apart = {2, 3, 5, 7};  // singular values that keep their distance
    const Tensor scales = tensor_of({apart.begin(), apart.begin() + shape[2]}, {shape[2]});
    const Tensor x = spread(shape) + eye(shape[1], shape[2], 0, float64) * scales;
    const auto all = [](const Tensors& x) {
      const auto [u, s, vh] = la::svd(x[0], false);
      return joined({square(u), s, square(vh)});
    };
    check_gradient(all, {x}, {.tolerance = 1e-4, .second_order = shape[1] == 3});
    check_gradient([](const Tensors& x) { return la::svd(x[0], false, false).s; }, {x}, {.tolerance = 1e-4});
    check_gradient([](const Tensors& x) { return la::svd(x[0]).s; }, {x}, {.tolerance = 1e-4});
  }
}
TEST(Svd, gradient_that_is_not_defined_is_an_error) {
  const Tensor x = spread({4, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor u = la::svd(x).u;
  expect_error([&] { tape.gradient(u, x); }, {"gradient of Svd", "full_matrices = false"});
}

COHORT_OP_GRADIENT(Solve, of_both_sides) {
  const auto solved = [](const Tensors& x) { return la::solve(x[0], x[1]); };
  check_gradient(solved, {squares(), spread({2, 3, 2}, 2)});
  check_gradient(solved, {squares(), spread({2, 3}, 2)});
  check_gradient(solved, {far_from_singular({3, 3}), spread({3}, 2)});
  check_gradient(solved, {far_from_singular({2, 1, 3, 3}), spread({1, 2, 3, 1}, 2)});
}
COHORT_OP_GRADIENT(SolveTriangular, of_both_sides) {
  for (const bool lower : {false, true}) {
    const auto solved = [=](const Tensors& x) { return la::solve_triangular(x[0], x[1], lower); };
    check_gradient(solved, {squares(), spread({2, 3, 2}, 2)});
    check_gradient(solved, {far_from_singular({3, 3}), spread({3}, 2)});
  }
}
COHORT_OP_GRADIENT(Lstsq, of_every_form) {
  const auto solved = [](const Tensors& x) { return la::lstsq(x[0], x[1]); };
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 3, 3}, Shape{2, 2, 4}}) {
    check_gradient(solved, {far_from_singular(shape), spread({2, shape[1], 2}, 2)}, {.tolerance = 1e-5});
  }
  check_gradient(solved, {far_from_singular({4, 2}), spread({4}, 2)}, {.tolerance = 1e-5});
}
TEST(Lstsq, solution_and_gradient_agree_on_what_counts_as_zero) {
  const double small = 0x1p-49;  // between one and ten epsilons of two rows
  const Tensor a = tensor_of({1, 0, 0, small}, {2, 2}), b = tensor_of({1, small}, {2});
  GradientTape tape;
  tape.watch(b);
  const Tensor x = la::lstsq(a, b);
  expect_values(x, {1, 1}, 1e-12);
  expect_values(tape.gradient(x, b), {1, 1 / small}, 1e-12);
}
COHORT_OP_GRADIENT(Pinv, of_every_form) {
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 3, 3}, Shape{2, 2, 4}}) {
    check_gradient([](const Tensors& x) { return la::pinv(x[0]); }, {far_from_singular(shape)}, {.tolerance = 1e-5});
  }
  const auto of_rank_two = [](const Tensors& x) { return la::pinv(matmul(x[0], x[1])); };
  check_gradient(of_rank_two, {far_from_singular({2, 4, 2}), far_from_singular({2, 2, 3})}, {.tolerance = 1e-5});
}
TEST(Norm, gradients) {
  for (const ops::linalg::NormOrder& order : {la::NormOrder("nuc"), la::NormOrder(2), la::NormOrder(-2),
                                              la::NormOrder(1), la::NormOrder(INFINITY), la::NormOrder("fro")}) {
    check_gradient([&](const Tensors& x) { return la::norm(x[0], order, {1, 2}); }, {squares()}, {.tolerance = 1e-4});
  }
  check_gradient([](const Tensors& x) { return la::norm(x[0], 3, 1); }, {spread({2, 3})}, {.tolerance = 1e-4});
}

}  // namespace
}  // namespace cohort::test
