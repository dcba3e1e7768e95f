#include "cohort/ops/attention.h"

#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/op_determinism.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/array.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/random_ops.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

struct AttentionSizes {
  std::int64_t batch = 2, steps = 3, heads = 4, keys = 5, key_heads = 2, size = 3, value_size = 2;
};

Tensors operands(const AttentionSizes& s, DType dtype = float64) {
  return {spread_tensor({s.batch, s.steps, s.heads, s.size}, -2, 2, dtype, 1),
          spread_tensor({s.batch, s.keys, s.key_heads, s.size}, -2, 2, dtype, 2),
          spread_tensor({s.batch, s.keys, s.key_heads, s.value_size}, -2, 2, dtype, 3)};
}

// Keys 1 and 4 are hidden from all, and the first step of the first sample sees none.
Tensor some_mask(const AttentionSizes& s) {
  std::vector<double> values;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t t = 0; t < s.steps; ++t) {
      for (std::int64_t k = 0; k < s.keys; ++k) values.push_back((b > 0 || t > 0) && k % 3 != 1 ? 1 : 0);
    }
  }
  return tensor_of(values, {s.batch, 1, s.steps, s.keys}, boolean);
}

// The definition, number by number.
std::vector<double> plain_attention(const Tensors& x, const AttentionOptions& options, double scale) {
  const Shape &q = x[0].shape(), &k = x[1].shape(), &v = x[2].shape();
  const std::vector<double> query = x[0].to_vector<double>(), key = x[1].to_vector<double>(),
                            value = x[2].to_vector<double>();
  const std::vector<double> seen =
      options.mask.defined() ? cast(options.mask, float64).to_vector<double>() : std::vector<double>();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> result;
  for (std::int64_t b = 0; b < q[0]; ++b) {
    for (std::int64_t t = 0; t < q[1]; ++t) {
      for (std::int64_t n = 0; n < q[2]; ++n) {
        const std::int64_t group = n / (q[2] / k[2]);
        std::vector<double> weights;
        double total = 0;
        bool any = false;
        for (std::int64_t s = 0; s < k[1]; ++s) {
          bool visible = seen.empty() || seen[at((b * q[1] + t) * k[1] + s)] != 0;
          visible = visible && !(options.is_causal && s > t);
          visible = visible && !(options.sliding_window > 0 && std::abs(s - t) >= options.sliding_window);
          double score = 0;
          for (std::int64_t h = 0; h < q[3]; ++h) {
            score +=
                query[at(((b * q[1] + t) * q[2] + n) * q[3] + h)] * key[at(((b * k[1] + s) * k[2] + group) * k[3] + h)];
          }
          weights.push_back(visible ? std::exp(score * scale) : 0);
          total += weights.back();
          any = any || visible;
        }
        for (std::int64_t d = 0; d < v[3]; ++d) {
          double sum = 0;
          for (std::int64_t s = 0; s < k[1]; ++s) {
            const double weight = any                         ? weights[at(s)] / total
                                  : options.zero_without_keys ? 0
                                                              : 1 / static_cast<double>(k[1]);
            sum += weight * value[at(((b * v[1] + s) * v[2] + group) * v[3] + d)];
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

std::vector<AttentionOptions> all_options(const AttentionSizes& s) {
  return {{},
          {.is_causal = true},
          {.sliding_window = 2},
          {.is_causal = true, .sliding_window = 2},
          {.mask = some_mask(s)},
          {.mask = some_mask(s), .is_causal = true},
          {.mask = some_mask(s), .zero_without_keys = true}};
}

COHORT_OP_REFERENCE(DotProductAttention, every_option, kFloats) {
  const AttentionSizes sizes;
  const Tensors x = operands(sizes, dtype);
  for (AttentionOptions options : all_options(sizes)) {
    options.scale = 0.7;
    expect_tensor(dot_product_attention(x[0], x[1], x[2], options), dtype, {2, 3, 4, 2},
                  plain_attention(x, options, 0.7));
  }
}
TEST(DotProductAttention, many_steps) {
  const AttentionSizes sizes{
      .batch = 1, .steps = 150, .heads = 2, .keys = 150, .key_heads = 1, .size = 8, .value_size = 5};
  const Tensors x = operands(sizes, float32);
  for (const AttentionOptions& options : all_options(sizes)) {
    expect_values(dot_product_attention(x[0], x[1], x[2], options), plain_attention(x, options, 1 / std::sqrt(8.0)),
                  1e-5);
  }
}
COHORT_OP_GRADIENT(DotProductAttention, every_option) {
  const AttentionSizes sizes;
  for (AttentionOptions options : all_options(sizes)) {
    check_gradient([&](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], options); }, operands(sizes));
  }
  AttentionOptions dropping{.dropout = 0.4, .seed = 5};
  check_gradient([&](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], dropping); }, operands(sizes),
                 {.unknown_batch = false});
}
TEST(DotProductAttention, many_steps_gradient) {
  const AttentionSizes sizes{
      .batch = 1, .steps = 70, .heads = 2, .keys = 70, .key_heads = 1, .size = 1, .value_size = 1};
  check_gradient([&](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], {.is_causal = true}); },
                 operands(sizes), {.second_order = false});
}

// Gradients in float32 against those in float64, which finite differences have checked: of few kernels, so that tools
// which look at each access get to the end.
TEST(DotProductAttentionGrad, in_both_types_with_every_option) {
  for (const AttentionSizes& sizes :
       {AttentionSizes{}, AttentionSizes{.batch = 1, .steps = 70, .heads = 2, .keys = 70, .key_heads = 1, .size = 8}}) {
    std::vector<AttentionOptions> every = all_options(sizes);
    every.push_back({.dropout = 0.4, .seed = 5});
    for (const AttentionOptions& options : every) {
      const auto gradients = [&](DType dtype) {
        const Tensors x = operands(sizes, dtype);
        GradientTape tape;
        for (const Tensor& input : x) tape.watch(input);
        return tape.gradient(dot_product_attention(x[0], x[1], x[2], options), x);
      };
      const Gradients wide = gradients(float64), narrow = gradients(float32);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        expect_values(narrow[i].dense(), wide[i].dense().to_vector<double>(), 1e-4);
      }
    }
  }
}

// Dropout and masks choose what the ops one by one choose.
TEST(DotProductAttention, drops_what_dropout_drops) {
  const AttentionSizes sizes{.steps = 5, .heads = 2, .key_heads = 2};
  const Tensors x = operands(sizes);
  const Tensor weights = softmax(einsum("btnh,bsnh->bnts", {x[0], x[1]}) * 0.5, -1);
  const Tensor expected = einsum("bnts,bsnv->btnv", {dropout(weights, 0.3, 11), x[2]});
  expect_values(dot_product_attention(x[0], x[1], x[2], {.scale = 0.5, .dropout = 0.3, .seed = 11}),
                expected.to_vector<double>(), 1e-12);
}

COHORT_OP_REFERENCE(DotProductAttentionGrad, of_the_values, kFloats) {
  // One key: its weight is 1, so the value gets what flows back and the scores nothing.
  const Tensor q = tensor_of({1, 2}, {1, 1, 1, 2}, dtype), v = tensor_of({3}, {1, 1, 1, 1}, dtype);
  const DType rows = dtype == float64 ? float64 : float32;
  const Tensors gradients = run_op_all(
      "DotProductAttentionGrad", {q, q, v, v, tensor_of({0.5}, {1, 1, 1, 1}, dtype), tensor_of({5}, {1, 1, 1}, rows)},
      {{"scale", 1.0}});
  expect_tensor(gradients[0], dtype, {1, 1, 1, 2}, {0, 0});
  expect_tensor(gradients[1], dtype, {1, 1, 1, 2}, {0, 0});
  expect_tensor(gradients[2], dtype, {1, 1, 1, 1}, {0.5});
}
// Its gradient is checked as the second order of the attention's.
COHORT_OP_GRADIENT(DotProductAttentionGrad, second_order) {
  const AttentionSizes sizes{.batch = 1, .steps = 2, .keys = 2};
  check_gradient([&](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2], {.mask = some_mask(sizes)}); },
                 operands(sizes), {.second_order = true});
}

// Output, rows and what flows to query, key and value.
Tensors there_and_back(const Tensors& x, const Tensor& upstream, const Attributes& attributes) {
  Tensors results = run_op_all("DotProductAttention", x, attributes);
  const Tensors gradients =
      run_op_all("DotProductAttentionGrad", {x[0], x[1], x[2], results[0], upstream, results[1]}, attributes);
  results.insert(results.end(), gradients.begin(), gradients.end());
  return results;
}
Tensor upstream_for(const AttentionSizes& s, DType dtype) {
  return spread_tensor({s.batch, s.steps, s.heads, s.value_size}, -1, 1, dtype, 4);
}

// Long enough for the kernels that GPUs have for half types, with lengths that fill their tiles and that do not.
TEST(DotProductAttention, half_types_of_many_steps) {
  const std::vector<AttentionSizes> all_sizes = {
      {.batch = 2, .steps = 64, .heads = 4, .keys = 64, .key_heads = 2, .size = 64, .value_size = 64},
      {.batch = 2, .steps = 70, .heads = 4, .keys = 70, .key_heads = 2, .size = 40, .value_size = 40},
      {.batch = 1, .steps = 128, .heads = 2, .keys = 256, .key_heads = 2, .size = 64, .value_size = 128},
      {.batch = 1, .steps = 150, .heads = 2, .keys = 70, .key_heads = 1, .size = 64, .value_size = 8},
      {.batch = 2, .steps = 1, .heads = 4, .keys = 70, .key_heads = 2, .size = 64, .value_size = 64}};
  for (const AttentionSizes& sizes : all_sizes) {
    for (const DType dtype : {float16, bfloat16}) {
      for (const bool is_causal : {false, true}) {
        SCOPED_TRACE(std::string(to_string(dtype)) + (is_causal ? " causal" : "") + " steps " +
                     std::to_string(sizes.steps) + " keys " + std::to_string(sizes.keys));
        const Attributes attributes{{"scale", 0.3}, {"is_causal", is_causal}};
        const Tensors x = operands(sizes, dtype);
        const Tensor upstream = upstream_for(sizes, dtype);
        Tensors wide;
        for (const Tensor& each : x) wide.push_back(cast(each, float64));
        const Tensors want = there_and_back(wide, cast(upstream, float64), attributes);
        const Tensors got = there_and_back(x, upstream, attributes);
        const double close = dtype == float16 ? 5e-3 : 4e-2;
        for (const std::size_t i : {0, 2, 3, 4}) {
          SCOPED_TRACE("result " + std::to_string(i));
          expect_values(got[i], want[i].to_vector<double>(), close);
        }
        expect_values(got[1], want[1].to_vector<double>(), 1e-3);
      }
    }
  }
}

TEST(DotProductAttentionGrad, gives_the_same_bits_when_it_must) {
  const AttentionSizes sizes{
      .batch = 2, .steps = 320, .heads = 4, .keys = 320, .key_heads = 4, .size = 64, .value_size = 64};
  const Tensors x = operands(sizes, bfloat16);
  const Tensor upstream = upstream_for(sizes, bfloat16);
  const bool before = op_determinism_enabled();
  enable_op_determinism();
  const auto compute = [&] {
    std::vector<std::vector<double>> bits;
    for (const Tensor& each : there_and_back(x, upstream, {{"scale", 0.125}, {"is_causal", true}})) {
      bits.push_back(cast(each, float64).to_vector<double>());
    }
    return bits;
  };
  const auto once = compute();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(compute(), once);
  enable_op_determinism(before);
}

TEST(DotProductAttention, the_same_bits_on_any_number_of_threads) {
  const AttentionSizes sizes{
      .batch = 3, .steps = 20, .heads = 4, .keys = 20, .key_heads = 4, .size = 16, .value_size = 16};
  const Tensors x = operands(sizes, float32);
  const auto compute = [&] { return dot_product_attention(x[0], x[1], x[2], {.dropout = 0.2}).to_vector<float>(); };
  const int threads = ThreadPool::instance().threads();
  ThreadPool::instance().set_threads(1);
  const std::vector<float> one = compute();
  ThreadPool::instance().set_threads(4);
  EXPECT_EQ(compute(), one);
  ThreadPool::instance().set_threads(threads);
}

TEST(DotProductAttention, refuses_what_does_not_fit) {
  const Tensors x = operands({});
  const auto call = [](const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {}) {
    return [=] { dot_product_attention(q, k, v, options); };
  };
  expect_error(call(spread_tensor({2, 3, 3}, -1, 1), x[1], x[2]), {"DotProductAttention", "4 axes", "(2, 3, 3)"});
  expect_error(call(spread_tensor({2, 3, 3, 3}, -1, 1), x[1], x[2]), {"multiple", "(2, 3, 3, 3)"});
  expect_error(call(spread_tensor({2, 3, 4, 7}, -1, 1), x[1], x[2]), {"agree", "(2, 3, 4, 7)"});
  expect_error(call(x[0], x[1], x[2], {.mask = tensor_of({1, 0}, {1, 1, 1, 2}, boolean)}), {"mask", "(1, 1, 1, 2)"});
  expect_error(call(x[0], x[1], x[2], {.dropout = 1.0}), {"dropout", "[0, 1)"});
}

}  // namespace
}  // namespace cohort::test
