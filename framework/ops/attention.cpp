#include "cohort/ops/attention.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

bool same_size(std::int64_t a, std::int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

// Checks query, key and value, the first three inputs, and the mask if there is one as input `mask`.
void check_attention_operands(const OpCall& call, int mask) {
  const Shape &query = call.shape(0), &key = call.shape(1), &value = call.shape(2);
  call.check(is_floating(call.dtype(0)) && call.dtype(0) == call.dtype(1) && call.dtype(0) == call.dtype(2),
             "query, key and value must have one floating type",
             {{"query.dtype", call.dtype(0)}, {"key.dtype", call.dtype(1)}, {"value.dtype", call.dtype(2)}});
  call.check(query.rank() == 4 && key.rank() == 4 && value.rank() == 4,
             "query, key and value must have 4 axes (batch, steps, heads, size)",
             {{"query.shape", query}, {"key.shape", key}, {"value.shape", value}});
  call.check(same_size(query[0], key[0]) && same_size(key[0], value[0]) && same_size(query[0], value[0]) &&
                 same_size(key[1], value[1]) && same_size(key[2], value[2]) && same_size(query[3], key[3]),
             "query and key must agree in batch and size, key and value in batch, steps and heads",
             {{"query.shape", query}, {"key.shape", key}, {"value.shape", value}});
  call.check(query[2] == kUnknown || key[2] == kUnknown || (key[2] > 0 && query[2] % key[2] == 0),
             "the heads of the query must be a multiple of those of the key",
             {{"query.shape", query}, {"key.shape", key}});
  const double rate = call.attr<double>("dropout");
  call.check(rate >= 0 && rate < 1, "dropout must lie in [0, 1)", {{"dropout", rate}});
  if (call.num_inputs() <= mask) return;
  const Shape scores{query[0], query[2], query[1], key[1]}, &given = call.shape(mask);
  bool fits = call.dtype(mask) == DType::Bool && given.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = given[i] == 1 || same_size(given[i], scores[i]);
  call.check(fits, "the mask must be booleans that broadcast to (batch, heads, steps, keys)",
             {{"mask", call.spec(mask)}, {"query.shape", query}, {"key.shape", key}});
}

// The logarithm of the sum of the exponentials of each row of scores, from which the weights can be computed again; the
// score of a hidden key where the step sees none.
TensorSpec rows_spec(const OpCall& call) {
  const Shape& query = call.shape(0);
  const DType dtype = call.dtype(0) == DType::Float64 ? DType::Float64 : DType::Float32;
  return {dtype, {query[0], query[2], query[1]}};
}

// The same computation with the matrices of scores as tensors, for gradients of the gradient.
struct Spelled {
  Tensor query, key, value;  // heads split into (key heads, heads that share one)
  Tensor visible;            // undefined when all keys are
  Tensor weights, kept;      // softmax, and 0 or 1 / (1 - rate) for each weight (undefined without dropout)
};

Tensor split_heads(const Tensor& x, std::int64_t key_heads) {
  return reshape(x, {-2, -2, key_heads, x.shape()[2] / key_heads, x.shape()[3]});
}
Tensor dropped(const Tensor& x, const Tensor& kept) { return kept.defined() ? x * kept : x; }
Tensor hidden_as_zero(const Tensor& x, const Tensor& visible) { return visible.defined() ? where(visible, x, 0.0) : x; }

Spelled spell(const OpCall& call, const Tensor& mask) {
  Spelled s;
  s.key = call.input(1);
  s.value = call.input(2);
  const std::int64_t key_heads = s.key.shape()[2];
  s.query = split_heads(call.input(0), key_heads);
  const Tensor scores = einsum("btkgh,bskh->bkgts", {s.query, s.key}) * call.attr<double>("scale");
  const auto window = call.attr<std::int64_t>("sliding_window");
  if (call.attr<bool>("is_causal") || window > 0) {
    const Tensor ones = ones_like(scores);
    const Tensor behind = cumsum(ones, -2) - cumsum(ones, -1);  // how far a key lies behind the step
    if (call.attr<bool>("is_causal")) s.visible = behind >= 0.0;
    if (window > 0) {
      const Tensor near = abs(behind) < static_cast<double>(window);
      s.visible = s.visible.defined() ? logical_and(s.visible, near) : near;
    }
  }
  if (mask.defined()) {
    const Tensor split = mask.shape()[1] == 1 ? expand_dims(mask, 1) : unmerge_axis(mask, scores, 1, 1, 2);
    s.visible = s.visible.defined() ? logical_and(s.visible, split) : split;
  }
  s.weights = s.visible.defined() ? softmax(where(s.visible, scores, -2.372671e38), -1) : softmax(scores, -1);
  if (call.attr<bool>("zero_without_keys")) s.weights = hidden_as_zero(s.weights, s.visible);
  if (const double rate = call.attr<double>("dropout"); rate > 0) {
    s.kept = dropout(ones_like(s.weights), rate, call.attr<std::int64_t>("seed"));
  }
  return s;
}

Tensor rows_sum(const Tensor& x) { return sum(x, -1, true); }

COHORT_OP("DotProductAttention")  // (query, key, value[, mask]) -> output, the logarithm of each row of scores
    .inputs(3, 4)
    .attr("is_causal", false)
    .attr("sliding_window", 0)
    .attr("dropout", 0.0)
    .attr("seed", 0)
    .attr("zero_without_keys", false)
    .infer([](const OpCall& call) -> Specs {
      check_attention_operands(call, 3);
      Shape output = call.shape(0);
      output[3] = call.shape(2)[3];
      return {{call.dtype(0), output}, rows_spec(call)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      Tensors inputs{call.input(0), call.input(1), call.input(2), call.output(0), dy[0], call.output(1)};
      if (call.num_inputs() > 3) inputs.push_back(call.input(3));
      Tensors gradients = run_op_all("DotProductAttentionGrad", inputs, call.attributes());
      if (call.num_inputs() > 3) gradients.emplace_back();
      return gradients;
    })
    .random();

// (query, key, value, output, d output, rows[, mask]) -> d query, d key, d value. The output saves a pass over the
// keys to those who want the sum of output * d output of a step; it follows from the others, so nothing flows to it.
COHORT_OP("DotProductAttentionGrad")
    .inputs(6, 7)
    .attr("is_causal", false)
    .attr("sliding_window", 0)
    .attr("dropout", 0.0)
    .attr("seed", 0)
    .attr("zero_without_keys", false)
    .infer([](const OpCall& call) -> Specs {
      check_attention_operands(call, 6);
      Shape output = call.shape(0);
      output[3] = call.shape(2)[3];
      const auto fits = [&](int i, const TensorSpec& wanted) {
        return call.dtype(i) == wanted.dtype && call.shape(i).compatible(wanted.shape);
      };
      call.check(fits(3, {call.dtype(0), output}) && fits(4, {call.dtype(0), output}) && fits(5, rows_spec(call)),
                 "output and gradient must have the shape of the output, the rows a number for each row of scores",
                 {{"output", call.spec(3)}, {"d_output", call.spec(4)}, {"rows", call.spec(5)}});
      return {call.spec(0), call.spec(1), call.spec(2)};
    })
    // With scores s = c q k', weights p = softmax(s), w = kept p, output w v and flows o, the outputs are v' = w'o,
    // e = kept (o v'), d = p (e - sum(p e)), q' = c d k, k' = c d'q. Below, `to_x` is what flows to x.
    .gradient([](const OpCall& call, std::span<const Tensor> flows) -> Tensors {
      const Spelled s = spell(call, call.num_inputs() > 6 ? call.input(6) : Tensor());
      const double c = call.attr<double>("scale");
      const std::int64_t key_heads = s.key.shape()[2];
      const auto flow = [&](std::size_t i) {
        return flows[i].defined() ? flows[i] : zeros_like(call.input(static_cast<int>(i)));
      };
      const Tensor to_dq = split_heads(flow(0), key_heads), to_dk = flow(1), to_dv = flow(2);
      const Tensor o = split_heads(call.input(4), key_heads);
      const Tensor& p = s.weights;
      const Tensor w = dropped(p, s.kept);
      const Tensor e = dropped(einsum("btkgv,bskv->bkgts", {o, s.value}), s.kept), row = rows_sum(p * e);
      const Tensor d = hidden_as_zero(p * (e - row), s.visible);
      const Tensor to_d = hidden_as_zero(
          (einsum("btkgh,bskh->bkgts", {to_dq, s.key}) + einsum("btkgh,bskh->bkgts", {s.query, to_dk})) * c, s.visible);
      const Tensor mean = rows_sum(p * to_d);
      const Tensor to_e = dropped(p * (to_d - mean), s.kept);
      const Tensor to_p = e * (to_d - mean) - row * to_d + dropped(einsum("btkgv,bskv->bkgts", {o, to_dv}), s.kept);
      const Tensor to_s = hidden_as_zero(p * (to_p - rows_sum(p * to_p)), s.visible) * c;
      const Tensor to_q = einsum("bkgts,bskh->btkgh", {to_s, s.key}) + einsum("bkgts,bskh->btkgh", {d, to_dk}) * c;
      const Tensor to_k = einsum("bkgts,btkgh->bskh", {to_s, s.query}) + einsum("bkgts,btkgh->bskh", {d, to_dq}) * c;
      const Tensor to_v = einsum("bkgts,btkgv->bskv", {to_e, o});
      const Tensor to_o = einsum("bkgts,bskv->btkgv", {to_e, s.value}) + einsum("bkgts,bskv->btkgv", {w, to_dv});
      Tensors gradients{reshape_like(to_q, call.input(0)), to_k, to_v, {}, reshape_like(to_o, call.input(4)), {}};
      if (call.num_inputs() > 6) gradients.emplace_back();
      return gradients;
    })
    .random();

}  // namespace

Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options) {
  double scale = options.scale;
  if (scale == 0.0 && query.rank() == 4) scale = 1.0 / std::sqrt(static_cast<double>(query.shape()[3]));
  Tensors inputs{query, key, value};
  if (options.mask.defined()) inputs.push_back(options.mask);
  Attributes attributes{{"scale", scale},
                        {"is_causal", options.is_causal},
                        {"sliding_window", options.sliding_window},
                        {"dropout", options.dropout},
                        {"seed", options.seed},
                        {"zero_without_keys", options.zero_without_keys}};
  return run_op_all("DotProductAttention", inputs, attributes)[0];
}

}  // namespace cohort::ops
