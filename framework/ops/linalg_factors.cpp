#include "cohort/core/dispatch.h"
#include "cohort/ops/gradient_or_zeros.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/linalg_parts.h"
#include "cohort/ops/slicing.h"

// The ops that decompose matrices.
namespace cohort::ops::linalg {
namespace {

// l^-T x l^-1 for a lower triangular l.
Tensor between_inverses(const Tensor& l, const Tensor& x) {
  const Tensor lt = transposed(l);
  return transposed(solve_triangular(lt, transposed(solve_triangular(lt, x))));
}

// The input counts as symmetric: its gradient is, too.
Tensors cholesky_gradient(const OpCall& call, const Tensor& dy) {
  const Tensor& l = call.output(0);
  const Tensor half = between_inverses(l, half_lower_triangle(matmul(l, dy, true)));
  return {0.5 * (half + transposed(half))};
}

COHORT_OP("Cholesky")
    .inputs(1)
    .checks()
    .attr("checked", true)  // else a matrix that is not positive definite gives NaN
    .infer([](const OpCall& call) {
      check_square(call);
      return same_as(call.spec(0));
    })
    .gradient(cholesky_gradient);

// The op reads the lower triangle alone: the gradient of the other one is zero.
Tensors eigh_gradient(const OpCall& call, std::span<const Tensor> dys) {
  const Tensor &w = call.output(0), &v = call.output(1);
  Tensor inner = diagonal_matrix(or_zeros(dys[0], w), v);
  if (dys[1].defined()) {
    const Tensor gaps = reciprocal_or_zero(expand_dims(w, -2) - expand_dims(w, -1));
    inner = inner + gaps * matmul(v, dys[1], true);
  }
  const Tensor whole = matmul(matmul(v, inner), v, false, true);
  return {half_lower_triangle(whole + transposed(whole))};
}

COHORT_OP("Eigh")
    .inputs(1)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_square(call);
      const Shape& shape = call.shape(0);
      return {{call.dtype(0), shape.slice(0, shape.rank() - 1)}, call.spec(0)};
    })
    .gradient(eigh_gradient);

Tensors lu_factor_gradient(const OpCall& call, std::span<const Tensor> dys) {
  if (!dys[0].defined()) return {Tensor()};
  const Tensor& lu = call.output(0);
  const Tensor lower = tril(lu, -1) + identity_like(lu), upper = triu(lu);
  const Tensor inner = tril(matmul(lower, tril(dys[0], -1), true), -1) + triu(matmul(triu(dys[0]), upper, false, true));
  // l^-T inner u^-T, its rows where they were in x.
  const Tensor left = solve_triangular(transposed(lower), inner);
  const Tensor sorted = transposed(solve_triangular(upper, transposed(left)));
  const Tensor rows = broadcast_like(expand_dims(call.output(1), -1), sorted);
  return {take_along_axis(sorted, rows, -2)};
}

COHORT_OP("LuFactor")
    .inputs(1)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_square(call);
      const Shape& shape = call.shape(0);
      return {call.spec(0), {DType::Int32, shape.slice(0, shape.rank() - 1)}};
    })
    .gradient(lu_factor_gradient);

// Of x = q @ r with a square r.
Tensor tall_qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const Tensor inner = matmul(r, dr, false, true) - matmul(dq, q, true);
  const Tensor lower = tril(inner, -1);
  const Tensor symmetric = tril(inner) + transposed(lower);
  return transposed(solve_triangular(r, transposed(dq + matmul(q, symmetric))));
}

Tensors qr_gradient(const OpCall& call, std::span<const Tensor> dys) {
  const std::int64_t rows = call.shape(0).dim(-2), columns = call.shape(0).dim(-1);
  if (rows == kUnknown || columns == kUnknown) {
    throw unimplemented("gradient of Qr", "matrices of a known size are expected", {{"x.shape", call.shape(0)}});
  }
  if (call.attr<bool>("complete") && rows > columns) {
    throw unimplemented("gradient of Qr", "at most as many rows as columns are expected in mode 'complete'",
                        {{"x.shape", call.shape(0)}}, "Take mode 'reduced'.");
  }
  const Tensor &q = call.output(0), &r = call.output(1);
  const Tensor dq = or_zeros(dys[0], q), dr = or_zeros(dys[1], r);
  if (rows >= columns) return {tall_qr_gradient(q, r, dq, dr)};
  // The first columns decide q; the others are q @ (their columns of r).
  const std::vector<std::int64_t> sizes = {rows, columns - rows};
  const Tensors r_parts = split_sizes(r, sizes, -1), dr_parts = split_sizes(dr, sizes, -1),
                x_parts = split_sizes(call.input(0), sizes, -1);
  const Tensor dq_of_all = dq + matmul(x_parts[1], dr_parts[1], false, true);
  return {concatenate({tall_qr_gradient(q, r_parts[0], dq_of_all, dr_parts[0]), matmul(q, dr_parts[1])}, -1)};
}

COHORT_OP("Qr")
    .inputs(1)
    .checks()
    .attr("complete", false)
    .infer([](const OpCall& call) -> Specs {
      check_matrices(call, 0);
      const Shape leading = leading_axes(call.shape(0));
      const std::int64_t rows = call.shape(0).dim(-2), columns = call.shape(0).dim(-1);
      const std::int64_t inner = call.attr<bool>("complete") ? rows : smaller_size(rows, columns);
      return {{call.dtype(0), with_axes(leading, {rows, inner})},
              {call.dtype(0), with_axes(leading, {inner, columns})}};
    })
    .gradient(qr_gradient);

// What flows back through the singular vectors, of a decomposition without more than min(m, n) of them.
Tensor singular_vectors_gradient(const Svd& x, const Tensor& du, const Tensor& dvh) {
  const Tensor squares = square(x.s), s_rows = expand_dims(x.s, -2), s_columns = expand_dims(x.s, -1);
  const Tensor gaps = reciprocal_or_zero(expand_dims(squares, -2) - expand_dims(squares, -1));
  const Tensor inverse = reciprocal_or_zero(s_rows), v = transposed(x.vh), dv = transposed(dvh);
  const Tensor u_du = matmul(x.u, du, true), v_dv = matmul(v, dv, true);
  const Tensor of_u = gaps * u_du, of_v = gaps * v_dv;
  const Tensor inner = (of_u + transposed(of_u)) * s_rows + s_columns * (of_v + transposed(of_v));
  const Tensor beside_u = (du - matmul(x.u, u_du)) * inverse, beside_v = (dv - matmul(v, v_dv)) * inverse;
  return matmul(matmul(x.u, inner) + beside_u, x.vh) + matmul(x.u, beside_v, false, true);
}

Tensors svd_gradient(const OpCall& call, std::span<const Tensor> dys) {
  const bool vectors = call.attr<bool>("compute_uv"), full = call.attr<bool>("full_matrices");
  const bool flows = vectors && (dys[1].defined() || dys[2].defined());
  const std::int64_t rows = call.shape(0).dim(-2), columns = call.shape(0).dim(-1);
  const bool square_matrix = rows == columns && rows != kUnknown;
  if (flows && full && !square_matrix) {
    throw unimplemented("gradient of Svd", "square matrices are expected where u and vh are full",
                        {{"x.shape", call.shape(0)}}, "Call svd with full_matrices = false.");
  }
  const bool thin = vectors && (!full || square_matrix);
  const Svd x = thin ? Svd{call.output(1), call.output(0), call.output(2)} : svd(call.input(0), false);
  const Tensor ds = or_zeros(dys[0], x.s);
  const Tensor of_values = matmul(x.u * expand_dims(ds, -2), x.vh);
  if (!flows) return {of_values};
  return {of_values + singular_vectors_gradient(x, or_zeros(dys[1], x.u), or_zeros(dys[2], x.vh))};
}

// The singular values, and with compute_uv u and vh.
COHORT_OP("Svd")
    .inputs(1)
    .checks()
    .attr("full_matrices", true)
    .attr("compute_uv", true)
    .infer([](const OpCall& call) -> Specs {
      check_matrices(call, 0);
      const Shape leading = leading_axes(call.shape(0));
      const std::int64_t rows = call.shape(0).dim(-2), columns = call.shape(0).dim(-1);
      const std::int64_t values = smaller_size(rows, columns);
      const bool full = call.attr<bool>("full_matrices");
      Specs outputs = {{call.dtype(0), with_axes(leading, {values})}};
      if (call.attr<bool>("compute_uv")) {
        outputs.push_back({call.dtype(0), with_axes(leading, {rows, full ? rows : values})});
        outputs.push_back({call.dtype(0), with_axes(leading, {full ? columns : values, columns})});
      }
      return outputs;
    })
    .gradient(svd_gradient);

}  // namespace
}  // namespace cohort::ops::linalg
