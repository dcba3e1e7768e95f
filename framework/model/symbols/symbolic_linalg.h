#pragma once

#include <optional>
#include <string>

#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/linalg.h"

// Linear algebra on symbols: each call becomes a layer of the functional model, saved as Keras saves it. Behaviour is
// that of the function of the same name on tensors.
namespace cohort::ops::linalg {

SymbolicTensor cholesky(const SymbolicTensor& x, bool upper = false);
SymbolicTensor cholesky_inverse(const SymbolicTensor& x, bool upper = false);
SymbolicTensor det(const SymbolicTensor& x);
SymbolicTensor inv(const SymbolicTensor& x);

// The fields of Eigh, as symbols.
struct SymbolicEigh {
  SymbolicTensor w, v;
};
SymbolicEigh eigh(const SymbolicTensor& x);
// The fields of LuFactor, as symbols.
struct SymbolicLuFactor {
  SymbolicTensor lu, pivots;
};
SymbolicLuFactor lu_factor(const SymbolicTensor& x);
// The fields of Qr, as symbols.
struct SymbolicQr {
  SymbolicTensor q, r;
};
SymbolicQr qr(const SymbolicTensor& x, const std::string& mode = "reduced");
// The fields of Svd, as symbols; u and vh are undefined unless compute_uv.
struct SymbolicSvd {
  SymbolicTensor u, s, vh;
};
SymbolicSvd svd(const SymbolicTensor& x, bool full_matrices = true, bool compute_uv = true);

SymbolicTensor solve(const SymbolicTensor& a, const SymbolicTensor& b);
SymbolicTensor solve(const SymbolicTensor& a, const Tensor& b);
SymbolicTensor solve(const Tensor& a, const SymbolicTensor& b);
SymbolicTensor solve_triangular(const SymbolicTensor& a, const SymbolicTensor& b, bool lower = false);
SymbolicTensor solve_triangular(const SymbolicTensor& a, const Tensor& b, bool lower = false);
SymbolicTensor solve_triangular(const Tensor& a, const SymbolicTensor& b, bool lower = false);
SymbolicTensor lstsq(const SymbolicTensor& a, const SymbolicTensor& b, std::optional<double> rcond = std::nullopt);
SymbolicTensor lstsq(const SymbolicTensor& a, const Tensor& b, std::optional<double> rcond = std::nullopt);
SymbolicTensor lstsq(const Tensor& a, const SymbolicTensor& b, std::optional<double> rcond = std::nullopt);
SymbolicTensor pinv(const SymbolicTensor& x, std::optional<double> rcond = std::nullopt);
SymbolicTensor matrix_rank(const SymbolicTensor& x, std::optional<double> tol = std::nullopt);
SymbolicTensor norm(const SymbolicTensor& x, const NormOrder& ord = {}, const Axes& axes = {}, bool keep = false);

}  // namespace cohort::ops::linalg

namespace cohort::ops {

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

// The fields of Slogdet, as symbols.
struct SymbolicSlogdet {
  SymbolicTensor sign, logabsdet;
};
SymbolicSlogdet slogdet(const SymbolicTensor& x);
SymbolicTensor logdet(const SymbolicTensor& x);

}  // namespace cohort::ops
