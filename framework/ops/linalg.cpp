#include "cohort/ops/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/dispatch.h"
#include "cohort/ops/full_precision.h"
#include "cohort/ops/linalg_parts.h"

namespace cohort::ops {
namespace linalg {
namespace {

// An op on the matrices of x, whose results take the floating type of x again.
Tensors run_on_matrices(const char* op, const Tensor& x, const Attributes& attributes = {}) {
  const DType dtype = floating_type(x.dtype());
  Tensors results = run_op_all(op, {to_full_precision(x)}, attributes);
  for (Tensor& result : results) {
    if (is_floating(result.dtype())) result = cast(result, dtype);
  }
  return results;
}

// An op on a and b, of which b may have vectors where a has matrices.
Tensor run_on_equation(const char* op, const Tensor& a, const Tensor& b, const Attributes& attributes = {}) {
  const DType dtype = promote(floating_type(a.dtype()), floating_type(b.dtype()));
  const bool vectors = b.rank() == a.rank() - 1;
  const Tensor left = to_full_precision(cast(a, dtype)), right = to_full_precision(cast(b, dtype));
  const Tensor x = run_op(op, {left, vectors ? expand_dims(right, -1) : right}, attributes);
  return cast(vectors ? squeeze(x, {-1}) : x, dtype);
}

Attributes with_rcond(std::optional<double> rcond) { return rcond ? Attributes{{"rcond", *rcond}} : Attributes{}; }

double precision(DType dtype) {
  return dtype == DType::Float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

}  // namespace

Tensor cholesky(const Tensor& x, bool upper) {
  const Tensor lower = run_on_matrices("Cholesky", x)[0];
  return upper ? transposed(lower) : lower;
}

Tensor cholesky_inverse(const Tensor& x, bool upper) {
  const Tensor factor = to_full_precision(x);
  const Tensor inverse = run_op("SolveTriangular", {factor, identity_like(factor)}, {{"lower", !upper}});
  return cast(matmul(inverse, inverse, !upper, upper), floating_type(x.dtype()));
}

Tensor det(const Tensor& x) { return run_on_matrices("Det", x)[0]; }
Tensor inv(const Tensor& x) { return run_on_matrices("Inv", x)[0]; }

Eigh eigh(const Tensor& x) {
  const Tensors results = run_on_matrices("Eigh", x);
  return {results[0], results[1]};
}

LuFactor lu_factor(const Tensor& x) {
  const Tensors results = run_on_matrices("LuFactor", x);
  return {results[0], results[1]};
}

Qr qr(const Tensor& x, const std::string& mode) {
  if (mode != "reduced" && mode != "complete") {
    throw invalid_argument("qr", "mode must be 'reduced' or 'complete'", {{"mode", mode}});
  }
  const Tensors results = run_on_matrices("Qr", x, {{"complete", mode == "complete"}});
  return {results[0], results[1]};
}

Svd svd(const Tensor& x, bool full_matrices, bool compute_uv) {
  const Tensors results = run_on_matrices("Svd", x, {{"full_matrices", full_matrices}, {"compute_uv", compute_uv}});
  return compute_uv ? Svd{results[1], results[0], results[2]} : Svd{Tensor(), results[0], Tensor()};
}

Tensor solve(const Tensor& a, const Tensor& b) { return run_on_equation("Solve", a, b); }

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower) {
  return run_on_equation("SolveTriangular", a, b, {{"lower", lower}});
}

Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond) {
  if (rcond && *rcond < 0) rcond = precision(promote(a.dtype(), b.dtype()));
  return run_on_equation("Lstsq", a, b, with_rcond(rcond));
}

Tensor pinv(const Tensor& x, std::optional<double> rcond) { return run_on_matrices("Pinv", x, with_rcond(rcond))[0]; }

Tensor matrix_rank(const Tensor& x, std::optional<double> tol) {
  const Tensor matrices = to_full_precision(x);
  const Tensor s = stop_gradient(svd(matrices, false, false).s);
  if (tol) return sum(cast(s > *tol, DType::Int32), -1);
  const Tensor size = maximum(size_of(matrices, {-2}, s.dtype()), size_of(matrices, {-1}, s.dtype()));
  return sum(cast(s > max(s, -1, keep_dims) * size * precision(s.dtype()), DType::Int32), -1);
}

namespace {

Tensor norm_of_vectors(const Tensor& x, double order, const Axes& axes, bool keep) {
  if (order == 2.0) return sqrt(sum(square(x), axes, keep));
  if (order == INFINITY) return max(abs(x), axes, keep);
  if (order == -INFINITY) return min(abs(x), axes, keep);
  if (order == 0.0) return sum(cast(not_equal(x, 0.0), x.dtype()), axes, keep);
  return pow(sum(pow(abs(x), order), axes, keep), 1.0 / order);
}

// One number for each matrix, which the last two axes make.
Tensor norm_of_matrices(const Tensor& x, const std::variant<std::monostate, double, std::string>& ord) {
  const auto* name = std::get_if<std::string>(&ord);
  if (name && *name == "nuc") return sum(svd(x, false, false).s, -1);
  const double order = name ? 0.0 : std::get<double>(ord);
  if (std::abs(order) == 2.0) {
    const Tensor s = svd(x, false, false).s;
    return order > 0 ? max(s, -1) : min(s, -1);
  }
  if (std::abs(order) != 1.0 && std::isfinite(order)) {
    throw invalid_argument("norm", "an order of 1, -1, 2, -2, infinity, 'fro' or 'nuc' is expected for matrices",
                           {{"ord", name ? *name : std::to_string(order)}});
  }
  const Tensor sums = sum(abs(x), std::isfinite(order) ? -2 : -1);
  return order > 0 ? max(sums, -1) : min(sums, -1);
}

}  // namespace

Tensor norm(const Tensor& x, const NormOrder& ord, const Axes& axes, bool keep) {
  const Tensor numbers = to_floating(x);
  std::vector<std::int64_t> over = axes.values;
  for (std::int64_t& axis : over) axis = normalize_axis(static_cast<int>(axis), x.rank(), "norm");
  for (int axis = 0; axes.values.empty() && axis < x.rank(); ++axis) over.push_back(axis);
  const auto* name = std::get_if<std::string>(&ord.value);
  const auto* order = std::get_if<double>(&ord.value);
  if (!order && (!name || (*name == "fro" && over.size() == 2))) return norm_of_vectors(numbers, 2.0, over, keep);
  if (over.size() == 1 && order) return norm_of_vectors(numbers, *order, over, keep);
  if (over.size() != 2) {
    throw invalid_argument("norm", "one axis is expected for an order, two for a norm of matrices",
                           {{"ord", name ? *name : std::to_string(*order)}, {"axes", over.size()}});
  }
  std::vector<std::int64_t> matrices_last;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != over[0] && axis != over[1]) matrices_last.push_back(axis);
  }
  matrices_last.insert(matrices_last.end(), over.begin(), over.end());
  Tensor result = norm_of_matrices(transpose(numbers, matrices_last), ord.value);
  std::sort(over.begin(), over.end());
  for (std::size_t i = 0; keep && i < 2; ++i) result = expand_dims(result, static_cast<int>(over[i]));
  return result;
}

}  // namespace linalg

Slogdet slogdet(const Tensor& x) {
  const Tensors results = linalg::run_on_matrices("Slogdet", x);
  return {results[0], results[1]};
}

Tensor logdet(const Tensor& x) {
  const Tensor factor = linalg::run_on_matrices("Cholesky", x, {{"checked", false}})[0];
  return 2.0 * sum(log(sum(factor * linalg::identity_like(factor), -1)), -1);
}

}  // namespace cohort::ops
