#include "cohort/ops/matmul.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

Shape infer_product(const OpCall& call, bool transpose_b) {
  const Shape &a = call.shape(0), &b = call.shape(1);
  const bool transpose_a = call.attr<bool>("transpose_a");
  call.check(a.rank() >= 2 && b.rank() >= 2, "both inputs must have 2 axes or more", {{"a.shape", a}, {"b.shape", b}});
  const std::int64_t k_of_a = a.dim(transpose_a ? -2 : -1), k_of_b = b.dim(transpose_b ? -1 : -2);
  call.check(k_of_a == k_of_b || k_of_a == kUnknown || k_of_b == kUnknown,
             "the columns of a must be as many as the rows of b",
             {{"a.shape", a}, {"b.shape", b}, {"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  Shape c = broadcast_shapes(a.slice(0, a.rank() - 2), b.slice(0, b.rank() - 2), call.name());
  c.push_back(a.dim(transpose_a ? -1 : -2));
  c.push_back(b.dim(transpose_b ? -2 : -1));
  return c;
}

Specs infer_matmul(const OpCall& call) {
  call.check(is_number(call.dtype(0)) && call.dtype(0) == call.dtype(1), "both matrices must have one type of number",
             {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}});
  return {{call.dtype(0), infer_product(call, call.attr<bool>("transpose_b"))}};
}

// A product of half types may be given and taken as float32.
Specs infer_fused_matmul(const OpCall& call) {
  const DType computed = compute_type(call, 0), result = result_type(call, computed);
  const auto stands = [computed](DType dtype) { return rounds_to(dtype, computed); };
  const bool has_bias = call.num_inputs() > 2;
  call.check(is_number(computed) && stands(call.dtype(0)) && stands(call.dtype(1)),
             "both matrices must have the type of number that is computed in, or float32 in place of a half type",
             {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}, {kComputeType, computed}});
  call.check(result == computed || (stands(result) && !has_bias && call.attr<std::string>("activation").empty()),
             "a product with a bias or an activation must give the type that it computes in",
             {{kResultType, result}, {kComputeType, computed}});
  const Shape c = infer_product(call, call.attr<bool>("transpose_b"));
  if (has_bias) {
    call.check(call.rank(2) == 1 && stands(call.dtype(2)) &&
                   (call.shape(2)[0] == c.back() || call.shape(2)[0] == kUnknown || c.back() == kUnknown),
               "the bias must be a vector with one element per column",
               {{"bias", call.spec(2)}, {"columns", c.back()}});
  }
  return {{result, c}};
}

// (a, b) -> (the product, the sums of b's columns)
Specs infer_matmul_bias_grad(const OpCall& call) {
  const DType computed = call.dtype(0), result = result_type(call, computed), sums = call.attr<DType>("sums_dtype");
  call.check(is_floating(computed) && call.dtype(1) == computed, "both matrices must have one floating type",
             {{"a.dtype", computed}, {"b.dtype", call.dtype(1)}});
  call.check(rounds_to(result, computed) && rounds_to(sums, computed),
             "product and sums must be of the matrices' type, or float32 in place of a half type",
             {{"a.dtype", computed}, {kResultType, result}, {"sums_dtype", sums}});
  call.check(call.rank(0) == 2 && call.rank(1) == 2, "both inputs must be matrices",
             {{"a.shape", call.shape(0)}, {"b.shape", call.shape(1)}});
  const Shape c = infer_product(call, false), shape = call.attr<Shape>("sums_shape");
  call.check(shape.fully_known() && (c.back() == kUnknown || shape.num_elements() == c.back()),
             "sums_shape must have one element per column", {{"sums_shape", shape}, {"columns", c.back()}});
  return {{result, c}, {sums, shape}};
}

// Of the product of matrices of one half type whose rows follow each other, in whole words of bits.
Shape infer_masked(const OpCall& call) {
  constexpr std::int64_t kColumns = 128;
  call.check(is_half(call.dtype(0)) && call.dtype(1) == call.dtype(0), "both matrices must have one half type",
             {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}});
  const Shape c = infer_product(call, call.attr<bool>("transpose_b"));
  call.check(call.rank(1) == 2 && (call.rank(0) == 2 || !call.attr<bool>("transpose_a")),
             "the product must be a single one", {{"a.shape", call.shape(0)}, {"b.shape", call.shape(1)}});
  call.check(c.back() != kUnknown && c.back() % kColumns == 0, "columns must be a multiple of 128",
             {{"columns", c.back()}});
  return c;
}
Shape mask_shape(Shape c) {
  c[c.rank() - 1] /= 8;
  return c;
}

// (a, b[, bias]) -> (relu(a b + bias), a bit for each element)
Specs infer_masked_matmul(const OpCall& call) {
  const Shape c = infer_masked(call);
  if (call.num_inputs() > 2) {
    call.check(call.dtype(2) == call.dtype(0) && call.shape(2) == Shape{c.back()},
               "the bias must be a vector of the matrices' type with one element per column",
               {{"bias", call.spec(2)}, {"columns", c.back()}});
  }
  return {{call.dtype(0), c}, {DType::UInt8, mask_shape(c)}};
}

// (a, b, mask) -> those elements of a b whose bit is set
Specs infer_matmul_relu_grad(const OpCall& call) {
  const Shape c = infer_masked(call), mask = mask_shape(c);
  call.check(call.dtype(2) == DType::UInt8 && (call.shape(2) == mask || !mask.fully_known()),
             "the mask must have a bit for each element of the product", {{"mask", call.spec(2)}, {"wanted", mask}});
  return {{call.dtype(0), c}};
}

Tensor product(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  return run_op("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

// Batch axes that were broadcast are summed; where the specs say that none was, nothing is added to the graph.
Tensor sum_batch_like(const Tensor& gradient, const Tensor& like) {
  const Shape &a = gradient.shape(), &b = like.shape();
  return a == b && (a.rank() == 2 || a.fully_known()) ? gradient : sum_to_like(gradient, like);
}

Tensors matmul_gradient(const OpCall& call, const Tensor& dy) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const bool ta = call.attr<bool>("transpose_a"), tb = call.attr<bool>("transpose_b");
  if (b.rank() == 2 && a.rank() > 2 && !ta) {  // one weight for a whole batch: a single tall product, no sum after it
    const Tensor rows = merge_axes(a, 0, a.rank() - 1), dy_rows = merge_axes(dy, 0, dy.rank() - 1);
    return {product(dy, b, false, !tb), tb ? product(dy_rows, rows, true, false) : product(rows, dy_rows, true, false)};
  }
  const Tensor da = ta ? product(b, dy, tb, true) : product(dy, b, false, !tb);
  const Tensor db = tb ? product(dy, a, true, ta) : product(a, dy, !ta, false);
  return {sum_batch_like(da, a), sum_batch_like(db, b)};
}

COHORT_OP("MatMul")
    .inputs(2)
    .attr("transpose_a", false)
    .attr("transpose_b", false)
    .infer(infer_matmul)
    .gradient(matmul_gradient);

// A MatMul that adds a bias to each row and applies an activation while the block is in the cache. Only passes make it.
COHORT_OP("FusedMatMul")
    .inputs(2, 3)
    .attr("transpose_a", false)
    .attr("transpose_b", false)
    .attr("activation", "")
    .infer(infer_fused_matmul)
    .not_differentiable();

// A MatMul and beside it the sums of b's columns, in any shape: the gradients of a weight and of the bias that goes
// with it. Only passes make it.
COHORT_OP("MatMulBiasGrad").inputs(2).attr("transpose_a", false).infer(infer_matmul_bias_grad).not_differentiable();

// A FusedMatMul with a relu that notes what is positive, the first element of eight in the lowest bit, and a MatMul
// that keeps what was noted: the gradient of such a relu need not read what came out of it. Only passes make them.
COHORT_OP("MaskedMatMul")
    .inputs(2, 3)
    .attr("transpose_a", false)
    .attr("transpose_b", false)
    .infer(infer_masked_matmul)
    .not_differentiable();
COHORT_OP("MatMulReluGrad")
    .inputs(3)
    .attr("transpose_a", false)
    .attr("transpose_b", false)
    .infer(infer_matmul_relu_grad)
    .not_differentiable();

}  // namespace

Tensor matmul(const Tensor& x1, const Tensor& x2, bool transpose_a, bool transpose_b) {
  const DType dtype = promote(x1.dtype(), x2.dtype());
  Tensor a = cast(x1, dtype), b = cast(x2, dtype);
  const bool a_vector = a.rank() == 1, b_vector = b.rank() == 1;
  if (a_vector) a = expand_dims(a, 0);
  if (b_vector) b = expand_dims(b, 1);
  Tensor c = product(a, b, transpose_a && !a_vector, transpose_b && !b_vector);
  if (b_vector) c = squeeze(c, {-1});
  if (a_vector) c = squeeze(c, {b_vector ? -1 : -2});
  return c;
}

Tensor dot(const Tensor& x1, const Tensor& x2) {
  if (x1.rank() == 0 || x2.rank() == 0) return x1 * x2;
  return tensordot(x1, x2, Sizes{x1.rank() - 1}, Sizes{std::max(0, x2.rank() - 2)});
}

Tensor tensordot(const Tensor& x1, const Tensor& x2, Sizes axes1, Sizes axes2) {
  if (axes1.size() != axes2.size()) {
    throw invalid_argument("tensordot", "as many axes must be named for x1 as for x2",
                           {{"len(axes1)", axes1.size()}, {"len(axes2)", axes2.size()}});
  }
  // x1 with its summed axes last, x2 with its summed axes first.
  const auto order = [](const Tensor& x, Sizes& summed, bool summed_last) {
    for (std::int64_t& axis : summed) axis = normalize_axis(static_cast<int>(axis), x.rank(), "tensordot");
    Sizes kept;
    for (std::int64_t i = 0; i < x.rank(); ++i) {
      if (std::find(summed.begin(), summed.end(), i) == summed.end()) kept.push_back(i);
    }
    Sizes perm = summed_last ? kept : summed;
    const Sizes& rest = summed_last ? summed : kept;
    perm.insert(perm.end(), rest.begin(), rest.end());
    return std::is_sorted(perm.begin(), perm.end()) ? x : transpose(x, perm);
  };
  const Tensor a = order(x1, axes1, true), b = order(x2, axes2, false);
  const int summed = static_cast<int>(axes1.size()), rows = a.rank() - summed, cols = b.rank() - summed;
  Tensor c = matmul(merge_axes(merge_axes(a, rows, summed), 0, rows), merge_axes(merge_axes(b, 0, summed), 1, cols));
  return unmerge_axis(unmerge_axis(c, b, 1, summed, cols), a, 0, 0, rows);
}

Tensor tensordot(const Tensor& x1, const Tensor& x2, int axes) {
  Sizes axes1, axes2;
  for (int i = 0; i < axes; ++i) {
    axes1.push_back(x1.rank() - axes + i);
    axes2.push_back(i);
  }
  return tensordot(x1, x2, axes1, axes2);
}

Tensor outer(const Tensor& x1, const Tensor& x2) { return expand_dims(ravel(x1), 1) * expand_dims(ravel(x2), 0); }
Tensor inner(const Tensor& x1, const Tensor& x2) {
  if (x1.rank() == 0 || x2.rank() == 0) return x1 * x2;
  return tensordot(x1, x2, {-1}, {-1});
}
Tensor vdot(const Tensor& x1, const Tensor& x2) { return sum(ravel(x1) * ravel(x2)); }

}  // namespace cohort::ops
