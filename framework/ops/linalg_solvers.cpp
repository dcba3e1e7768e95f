#include "cohort/core/dispatch.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/linalg_parts.h"

// The ops that solve equations, invert and take determinants.
namespace cohort::ops::linalg {
namespace {

// Numbers, one for each matrix, beside the matrices.
Tensor beside_matrices(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }

COHORT_OP("Det")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      check_square(call);
      return {{call.dtype(0), leading_axes(call.shape(0))}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {beside_matrices(dy * call.output(0)) * transposed(inv(call.input(0)))};
    });

COHORT_OP("Slogdet")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      check_square(call);
      const TensorSpec each{call.dtype(0), leading_axes(call.shape(0))};
      return {each, each};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) -> Tensors {
      if (!dys[1].defined()) return {Tensor()};  // the sign does not change
      return {beside_matrices(dys[1]) * transposed(inv(call.input(0)))};
    });

COHORT_OP("Inv")
    .inputs(1)
    .checks()
    .infer([](const OpCall& call) {
      check_square(call);
      return same_as(call.spec(0));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor& y = call.output(0);
      return {-matmul(matmul(y, dy, true), y, false, true)};
    });

void check_right_side(const OpCall& call) {
  check_matrices(call, 1);
  call.check(call.dtype(0) == call.dtype(1), "a and b must have one type",
             {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}});
  call.check(may_be_equal(call.shape(0).dim(-2), call.shape(1).dim(-2)), "a and b must have the same number of rows",
             {{"a.shape", call.shape(0)}, {"b.shape", call.shape(1)}});
}

Specs infer_solve(const OpCall& call) {
  check_square(call);
  check_right_side(call);
  const Shape &a = call.shape(0), &b = call.shape(1);
  const std::int64_t rows = b.dim(-2) == kUnknown ? a.dim(-2) : b.dim(-2);
  const Shape leading = broadcast_shapes(leading_axes(a), leading_axes(b), call.name());
  return {{call.dtype(1), with_axes(leading, {rows, b.dim(-1)})}};
}

COHORT_OP("Solve").inputs(2).checks().infer(infer_solve).gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
  const Tensor &a = call.input(0), &b = call.input(1);
  const Tensor db = run_op("Solve", {transposed(a), dy});
  return {summed_like(-matmul(db, call.output(0), false, true), a), summed_like(db, b)};
});

COHORT_OP("SolveTriangular")
    .inputs(2)
    .checks()
    .attr("lower", false)
    .infer(infer_solve)
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &a = call.input(0), &b = call.input(1);
      const bool lower = call.attr<bool>("lower");
      const Tensor db = run_op("SolveTriangular", {transposed(a), dy}, {{"lower", !lower}});
      const Tensor da = -matmul(db, call.output(0), false, true);
      return {summed_like(lower ? tril(da) : triu(da), a), summed_like(db, b)};
    });

// True of matrices whose rank does not change nearby, which includes those of full rank.
Tensors pinv_gradient(const OpCall& call, const Tensor& dy) {
  const Tensor &x = call.input(0), &p = call.output(0), dyt = transposed(dy);
  const Tensor inside = matmul(matmul(p, dy, true), p, false, true);
  const Tensor of_rows = matmul(matmul(dyt, p), p, false, true), of_columns = matmul(matmul(p, p, true), dyt);
  return {of_rows - matmul(x, matmul(p, of_rows)) + of_columns - matmul(matmul(of_columns, p), x) - inside};
}

COHORT_OP("Pinv")
    .inputs(1)
    .attr("epsilons", 10.0)
    .infer([](const OpCall& call) -> Specs {
      check_matrices(call, 0);
      const Shape& x = call.shape(0);
      return {{call.dtype(0), with_axes(leading_axes(x), {x.dim(-1), x.dim(-2)})}};
    })
    .gradient(pinv_gradient);

// x = pinv(a) @ b: by the gradient of pinv, without its large products.
Tensors lstsq_gradient(const OpCall& call, const Tensor& dy) {
  const Tensor &a = call.input(0), &b = call.input(1), &x = call.output(0);
  Attributes attributes = call.attributes();
  attributes.set("epsilons", call.attr<double>("epsilons"));  // what counted as zero must do so here, too
  const Tensor p = run_op("Pinv", {a}, attributes);
  const Tensor db = matmul(p, dy, true);
  const Tensor residue = b - matmul(a, x);
  const Tensor da = matmul(residue, matmul(p, db), false, true) - matmul(db, x, false, true) +
                    matmul(matmul(p, x, true), dy - matmul(a, db, true), false, true);
  return {da, db};
}

COHORT_OP("Lstsq")
    .inputs(2)
    .attr("epsilons", 1.0)
    .infer([](const OpCall& call) -> Specs {
      check_matrices(call, 0);
      check_right_side(call);
      const Shape &a = call.shape(0), &b = call.shape(1);
      call.check(leading_axes(a).compatible(leading_axes(b)), "a and b must have the same leading axes",
                 {{"a.shape", a}, {"b.shape", b}});
      return {{call.dtype(0), with_axes(leading_axes(a), {a.dim(-1), b.dim(-1)})}};
    })
    .gradient(lstsq_gradient);

}  // namespace
}  // namespace cohort::ops::linalg
