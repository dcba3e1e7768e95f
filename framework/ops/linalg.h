#pragma once

#include <optional>
#include <string>
#include <variant>

#include "cohort/core/tensor.h"
#include "cohort/ops/reduce.h"

// Linear algebra on the matrices that the last two axes make; the axes before them are a batch. float32 and float64
// are computed as they are, the half types by way of float32, integers become float32.
namespace cohort::ops::linalg {

// The triangular factor of symmetric positive definite matrices: x = l @ transpose(l) with l lower triangular, or
// transpose(u) @ u with `upper`. x (..., m, m), result alike. Only the lower triangle of x is read; a matrix that is
// not positive definite is an error.
Tensor cholesky(const Tensor& x, bool upper = false);
// The inverse of the matrix whose Cholesky factor x is: lower triangular, or upper triangular with `upper`.
Tensor cholesky_inverse(const Tensor& x, bool upper = false);
// Determinants. x (..., m, m), result (...).
Tensor det(const Tensor& x);
// Inverses. x (..., m, m), result alike; a singular matrix is an error.
Tensor inv(const Tensor& x);

// Eigenvalues and eigenvectors of symmetric matrices.
struct Eigh {
  Tensor w;  // (..., m): the eigenvalues, smallest first
  Tensor v;  // (..., m, m): column j is the eigenvector of w[..., j], of length 1
};
// Eigenvalues and eigenvectors of symmetric matrices x (..., m, m), of which only the lower triangle is read.
Eigh eigh(const Tensor& x);

// The triangles of an LU decomposition in one matrix, and where its rows come from.
struct LuFactor {
  Tensor lu;      // (..., m, m): u on and above the diagonal, below it l, whose own diagonal is all ones
  Tensor pivots;  // (..., m), int32: row i of x is row pivots[i] of l @ u
};
// LU decomposition with row exchanges. x (..., m, m); a singular matrix is an error. The pivots are those that Keras
// gives with TensorFlow, its other backends list the exchanges instead.
LuFactor lu_factor(const Tensor& x);

// x = q @ r, where q has orthonormal columns and r is upper triangular.
struct Qr {
  Tensor q;
  Tensor r;
};
// QR decomposition by Householder reflections. x (..., m, n).
//   mode: "reduced" for q (..., m, k) and r (..., k, n) with k = min(m, n), "complete" for q (..., m, m) and
//     r (..., m, n).
Qr qr(const Tensor& x, const std::string& mode = "reduced");

// x = u @ diag(s) @ vh, where u has orthonormal columns and vh orthonormal rows.
struct Svd {
  Tensor u;   // undefined unless compute_uv
  Tensor s;   // (..., min(m, n)): the singular values, largest first
  Tensor vh;  // undefined unless compute_uv
};
// Singular value decomposition. x (..., m, n).
//   full_matrices: u (..., m, m) and vh (..., n, n), else u (..., m, k) and vh (..., k, n) with k = min(m, n).
//     Gradients of u and vh need false, unless m = n.
//   compute_uv: false computes s alone.
Svd svd(const Tensor& x, bool full_matrices = true, bool compute_uv = true);

// The x with a @ x = b. a (..., m, m), b (..., m, n), or (..., m) when b has one axis less than a; result like b.
// Leading axes broadcast; a singular matrix is an error.
Tensor solve(const Tensor& a, const Tensor& b);
// The same where a is triangular: upper, or `lower`. The other triangle is not read; a zero on the diagonal divides by
// zero.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower = false);
// The x that makes the squares of a @ x - b smallest; of several, the one with the smallest norm. a (..., m, n), b
// (..., m, k) or (..., m), result (..., n, k) or (..., n).
//   rcond: singular values of a up to rcond times the largest count as zero; the type's precision times max(m, n)
//     unless given.
Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = std::nullopt);
// The Moore-Penrose inverse. x (..., m, n), result (..., n, m).
//   rcond: singular values up to rcond times the largest count as zero; 10 times the type's precision times max(m, n)
//     unless given.
Tensor pinv(const Tensor& x, std::optional<double> rcond = std::nullopt);
// How many singular values exceed a bound, int32. x (..., m, n), result (...). No gradient flows through.
//   tol: the bound; the largest singular value times the type's precision times max(m, n) unless given.
Tensor matrix_rank(const Tensor& x, std::optional<double> tol = std::nullopt);

// The order of a norm: none (2 of vectors, "fro" of matrices), a number, or the name of a norm of matrices.
struct NormOrder {
  NormOrder() = default;
  NormOrder(int order) : value(static_cast<double>(order)) {}
  NormOrder(double order) : value(order) {}
  NormOrder(const char* name) : value(std::string(name)) {}
  NormOrder(std::string name) : value(std::move(name)) {}
  std::variant<std::monostate, double, std::string> value;
};
// Norms of vectors (one axis) or of matrices (two axes: rows, then columns).
//   ord: of vectors any number p, sum(abs(x)^p)^(1/p), INFINITY and -INFINITY for the largest and smallest magnitude, 0
//     for how many are not zero; of matrices 1, -1, INFINITY, -INFINITY (sums of magnitudes), 2 and -2 (largest and
//     smallest singular value), "fro" or "nuc" (sum of the singular values).
//   axes: none for all axes of x; of more than two only the root of the sum of squares is defined.
//   keep: the axes stay, with size 1.
Tensor norm(const Tensor& x, const NormOrder& ord = {}, const Axes& axes = {}, bool keep = false);

}  // namespace cohort::ops::linalg

namespace cohort::ops {

// As in Keras, the functions of ops::linalg are also functions of ops.
using linalg::cholesky;
using linalg::cholesky_inverse;
using linalg::det;
using linalg::eigh;
using linalg::inv;
using linalg::lstsq;
using linalg::lu_factor;
using linalg::matrix_rank;
using linalg::norm;
using linalg::pinv;
using linalg::qr;
using linalg::solve;
using linalg::solve_triangular;
using linalg::svd;

// A determinant as its sign and the logarithm of its magnitude.
struct Slogdet {
  Tensor sign;       // -1, 0 or 1
  Tensor logabsdet;  // minus infinity where the sign is 0
};
// Determinants that may be too large or too small for their type. x (..., m, m), results (...).
Slogdet slogdet(const Tensor& x);
// The logarithm of the determinants of symmetric positive definite matrices; NaN for others. x (..., m, m), result
// (...).
Tensor logdet(const Tensor& x);

}  // namespace cohort::ops
