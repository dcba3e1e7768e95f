#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/ctc.h"
#include "cohort/ops/image.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/normalization.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/recurrent.h"
#include "tests/ops/op_samples.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

std::string in_words(const char* what, const Shape& shape, DType dtype) {
  return std::string(what) + " " + shape.to_string() + " " + to_string(dtype);
}

void add_conv_samples(OpSamples& samples, DType dtype) {
  struct Case {
    Shape inputs, kernel;
    ConvOptions options;
  };
  const Case cases[] = {
      {{7, 19, 17, 8}, {3, 3, 8, 20}, {.padding = "same"}},
      {{3, 20, 21, 3}, {5, 5, 3, 32}, {.strides = {2}}},
      {{2, 24, 24, 16}, {1, 1, 16, 48}, {}},
      {{5, 11, 11, 64}, {3, 3, 64, 64}, {.padding = "same"}},
      {{3, 15, 15, 12}, {3, 3, 4, 24}, {.dilation_rate = {2}}},  // three groups
      {{9, 150, 12}, {5, 12, 16}, {.padding = "causal"}},
      {{2, 9, 8, 10, 6}, {3, 3, 3, 6, 10}, {}},
  };
  for (const Case& each : cases) {
    const Tensors inputs = {sample_numbers(each.inputs, -1, 1, dtype, 1), sample_numbers(each.kernel, -1, 1, dtype, 2)};
    samples.add(in_words("Conv", each.inputs, dtype), inputs,
                [options = each.options](const Tensors& t) { return conv(t[0], t[1], options); });
  }
  const Tensors first = {sample_numbers(cases[0].inputs, -1, 1, dtype, 1),
                         sample_numbers(cases[0].kernel, -1, 1, dtype, 2)};
  const Tensor bias = sample_numbers({20}, -1, 1, dtype, 3);
  const Attributes apart = {{"strides", std::vector<std::int64_t>{1, 1}},
                            {"dilations", std::vector<std::int64_t>{1, 1}}};
  Attributes once = apart;
  once.set("activation", "Relu");
  samples.add_plain(in_words("FusedConv", cases[0].inputs, dtype), {first[0], first[1], bias},
                    [=](const Tensors& t) { return run_op("FusedConv", t, once); });
  samples.add_plain(in_words("ConvBiasGrad", cases[0].inputs, dtype),
                    {first[0], sample_numbers({7, 17, 15, 20}, -1, 1, dtype, 3), first[1]},
                    [=](const Tensors& t) { return run_op_all("ConvBiasGrad", t, apart); });
  if (dtype == float32) {
    const Tensor flows = sample_numbers({70, 13, 13, 32}, -1, 1, dtype, 4), image = sample_numbers({70, 28, 28, 1});
    const Tensor chosen = cast(sample_indices(flows.shape(), 5), uint8), few = sample_numbers({3, 3, 1, 32}, 2);
    samples.add_plain("ConvReluMaxPool", {image, few, sample_numbers({32}, 3)},
                      [](const Tensors& t) { return run_op_all("ConvReluMaxPool", t); });
    samples.add_plain("ConvReluMaxPoolGrad", {image, flows, chosen, few},
                      [](const Tensors& t) { return run_op_all("ConvReluMaxPoolGrad", t); });
  }
  samples.add(in_words("ConvTranspose", cases[0].inputs, dtype),
              {first[0], sample_numbers({3, 3, 14, 8}, -1, 1, dtype, 2)},
              [](const Tensors& t) { return conv_transpose(t[0], t[1], {.strides = {2}, .padding = "same"}); });
  samples.add(in_words("depthwise Conv", {5, 19, 17, 24}, dtype),
              {sample_numbers({5, 19, 17, 24}, -1, 1, dtype, 1), sample_numbers({3, 3, 24, 1}, -1, 1, dtype, 2)},
              [](const Tensors& t) { return depthwise_conv(t[0], t[1], {.padding = "same"}); });
  samples.add(in_words("depthwise Conv with a multiplier", {5, 19, 17, 8}, dtype),
              {first[0], sample_numbers({3, 3, 8, 2}, -1, 1, dtype, 2)},
              [](const Tensors& t) { return depthwise_conv(t[0], t[1]); });
}

void add_recurrent_samples(OpSamples& samples, DType dtype) {
  constexpr std::int64_t kRows = 37, kTimes = 6, kUnits = 24;
  const auto numbers = [&](const Shape& shape, std::int64_t seed) { return sample_numbers(shape, -1, 1, dtype, seed); };
  const Tensor h = numbers({kRows, kUnits}, 1), c = numbers({kRows, kUnits}, 2);
  const Tensor mask = sample_numbers({kRows, kTimes}, 3) > -0.5;
  for (const RecurrentOptions& options : {RecurrentOptions{}, RecurrentOptions{.mask = mask, .reverse = true}}) {
    samples.add(in_words("LstmSequence", h.shape(), dtype),
                {numbers({kRows, kTimes, 4 * kUnits}, 4), h, c, numbers({kUnits, 4 * kUnits}, 5)},
                [=](const Tensors& t) {
                  const LstmStates states = lstm(t[0], t[1], t[2], t[3], options);
                  return Tensors{states.h, states.last_h, states.last_c};
                });
    samples.add(
        in_words("GruSequence", h.shape(), dtype),
        {numbers({kRows, kTimes, 3 * kUnits}, 4), h, numbers({kUnits, 3 * kUnits}, 5), numbers({3 * kUnits}, 6)},
        [=](const Tensors& t) {
          const RecurrentStates states = gru(t[0], t[1], t[2], t[3], options);
          return Tensors{states.h, states.last};
        });
    samples.add(in_words("SimpleRnnSequence", h.shape(), dtype),
                {numbers({kRows, kTimes, kUnits}, 4), h, numbers({kUnits, kUnits}, 5)}, [=](const Tensors& t) {
                  const RecurrentStates states = simple_rnn(t[0], t[1], t[2], options);
                  return Tensors{states.h, states.last};
                });
  }
}

void add_attention_samples(OpSamples& samples, DType dtype) {
  const auto numbers = [&](const Shape& shape, std::int64_t seed) { return sample_numbers(shape, -1, 1, dtype, seed); };
  const Tensor mask = sample_numbers({3, 1, 33, 33}, 9) > -0.8;
  const Tensor query = numbers({3, 33, 4, 16}, 1);
  for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{.mask = mask, .dropout = 0.2, .seed = 3},
                                          AttentionOptions{.is_causal = true}, AttentionOptions{.sliding_window = 5}}) {
    samples.add(in_words("DotProductAttention", query.shape(), dtype),
                {query, numbers({3, 33, 4, 16}, 2), numbers({3, 33, 4, 12}, 3)},
                [=](const Tensors& t) { return dot_product_attention(t[0], t[1], t[2], options); });
  }
  samples.add(in_words("DotProductAttention with shared keys", query.shape(), dtype),
              {query, numbers({3, 33, 2, 16}, 2), numbers({3, 33, 2, 12}, 3)},
              [](const Tensors& t) { return dot_product_attention(t[0], t[1], t[2]); });
}

}  // namespace

void add_product_samples(OpSamples& samples) {
  // Each is worth several threads at every level of the CPU.
  const std::int64_t sizes[][3] = {{150, 170, 130}, {2000, 10, 120}, {7, 1200, 300}, {1200, 50, 40},
                                   {2, 1500, 800},  {257, 129, 500}, {64, 2000, 20}};
  for (const auto& [m, n, k] : sizes) {
    samples.add(in_words("MatMul", {m, n, k}, float32), {sample_numbers({m, k}), sample_numbers({k, n}, 2)},
                [](const Tensors& t) { return matmul(t[0], t[1]); });
    for (DType dtype : {float64, bfloat16, float16}) {
      samples.add_plain(in_words("MatMul", {m, n, k}, dtype),
                        {sample_numbers({k, m}, -1, 1, dtype), sample_numbers({n, k}, -1, 1, dtype, 2)},
                        [](const Tensors& t) { return matmul(t[0], t[1], true, true); });
    }
    samples.add_plain(in_words("FusedMatMul", {m, n, k}, float32),
                      {sample_numbers({m, k}), sample_numbers({k, n}, 2), sample_numbers({n}, 3)},
                      [](const Tensors& t) {
                        return run_op("FusedMatMul", t, {{"activation", "Tanh"}});
                      });
    samples.add_plain(in_words("MatMulBiasGrad", {m, n, k}, float32),
                      {sample_numbers({k, m}), sample_numbers({k, n}, 2)}, [n = n](const Tensors& t) {
                        return run_op_all("MatMulBiasGrad", t,
                                          {{"transpose_a", true}, {"sums_dtype", float32}, {"sums_shape", Shape{n}}});
                      });
  }
  const Tensor rows = sample_numbers({300, 90}, -1, 1, bfloat16),
               weight = sample_numbers({90, 256}, -1, 1, bfloat16, 2);
  samples.add_plain("MaskedMatMul", {rows, weight}, [](const Tensors& t) { return run_op_all("MaskedMatMul", t); });
  samples.add_plain("MatMulReluGrad", {rows, weight, cast(sample_indices({300, 32}, 256), uint8)},
                    [](const Tensors& t) { return run_op("MatMulReluGrad", t); });
  samples.add_plain("MatMul of whole numbers", {sample_indices({190, 70}, 90), sample_indices({70, 110}, 90, 2)},
                    [](const Tensors& t) { return matmul(t[0], t[1]); });
  samples.add("MatMul of small matrices", {sample_numbers({190, 20, 30}), sample_numbers({190, 30, 25}, 2)},
              [](const Tensors& t) { return matmul(t[0], t[1]); });
  samples.add("MatMul of three matrices", {sample_numbers({3, 140, 90}), sample_numbers({1, 90, 120}, 2)},
              [](const Tensors& t) { return matmul(t[0], t[1]); });
}

void add_network_samples(OpSamples& samples) {
  const Tensor logits = sample_numbers({301, 307}, -3, 3), labels = sample_indices({301}, 307);
  for (DType dtype : {float32, bfloat16}) {
    const Tensor x = cast(logits, dtype);
    samples.add(in_words("Softmax", x.shape(), dtype), {x}, [](const Tensors& t) { return softmax(t[0]); });
    samples.add(in_words("LogSoftmax", x.shape(), dtype), {x}, [](const Tensors& t) { return log_softmax(t[0], 0); });
    samples.add(in_words("SparseSoftmaxCrossEntropy", x.shape(), dtype), {x, labels},
                [](const Tensors& t) { return sparse_softmax_cross_entropy(t[0], t[1]); });
    samples.add_second_order();
    samples.add(in_words("SparseSoftmaxCrossEntropyRows", x.shape(), dtype), {x, labels},
                [](const Tensors& t) { return run_op_all("SparseSoftmaxCrossEntropyRows", t); });
    samples.add_second_order();
    const Tensor flows = sample_numbers({301}, 0, 1, dtype, 4);
    samples.add_plain(in_words("SparseSoftmaxCrossEntropyAndGrad", x.shape(), dtype), {flows, x, labels},
                      [](const Tensors& t) { return run_op_all("SparseSoftmaxCrossEntropyAndGrad", t); });
    samples.add_plain(in_words("SoftmaxCrossEntropyAndGrad", x.shape(), dtype), {flows, x, softmax(x * 0.5)},
                      [](const Tensors& t) { return run_op_all("SoftmaxCrossEntropyAndGrad", t); });
    samples.add(in_words("SoftmaxCrossEntropy", x.shape(), dtype), {x, softmax(x * 0.5)},
                [](const Tensors& t) { return softmax_cross_entropy(t[0], t[1]); });
    const Tensor gain = sample_numbers({307}, 0.5, 1.5, dtype, 2), shift = sample_numbers({307}, -1, 1, dtype, 3);
    samples.add(in_words("LayerNorm", x.shape(), dtype), {x, gain, shift},
                [](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); });
    samples.add(in_words("BatchNorm", x.shape(), dtype), {x, gain, shift}, [](const Tensors& t) {
      const BatchNormResult result = batch_norm(t[0], t[1], t[2]);
      return Tensors{result.output, result.mean, result.variance};
    });
    samples.add(in_words("BatchNorm of planes", {7, 5, 40, 41}, dtype),
                {sample_numbers({7, 5, 40, 41}, -1, 1, dtype), sample_numbers({5}, 0.5, 1.5, dtype, 2),
                 sample_numbers({5}, -1, 1, dtype, 3)},
                [](const Tensors& t) { return batch_norm(t[0], t[1], t[2], 1).output; });
    const Tensor channel = sample_numbers({307}, 0.5, 1.5, float32, 2);
    const Attributes factors = {{kComputeType, float32}};
    samples.add_plain(in_words("BatchNormFactors", x.shape(), dtype), {x, channel, channel},
                      [=](const Tensors& t) { return run_op_all("BatchNormFactors", t, factors); });
    samples.add_plain(in_words("BatchNormGradFactors", x.shape(), dtype), {x, x, channel, channel, channel},
                      [=](const Tensors& t) { return run_op_all("BatchNormGradFactors", t, factors); });
    samples.add_plain(in_words("masked BatchNormGradFactors", x.shape(), dtype),
                      {x, x, channel, channel, channel, channel, channel},
                      [=](const Tensors& t) { return run_op_all("BatchNormGradFactors", t, factors); });
    add_conv_samples(samples, dtype);
    add_attention_samples(samples, dtype);
    const Tensor image = sample_numbers({5, 26, 27, 19}, -1, 1, dtype);
    samples.add(in_words("MaxPool", image.shape(), dtype), {image}, [](const Tensors& t) {
      return max_pool(t[0], {2, 2});
    });
    samples.add_second_order();
    samples.add(in_words("overlapping MaxPool", image.shape(), dtype), {image}, [](const Tensors& t) {
      return max_pool(t[0], {3, 3}, {.strides = {2, 2}, .padding = "same"});
    });
    samples.add(in_words("AveragePool", image.shape(), dtype), {image}, [](const Tensors& t) {
      return average_pool(t[0], {2, 2});
    });
    samples.add_second_order();
    samples.add(in_words("overlapping AveragePool", image.shape(), dtype), {image}, [](const Tensors& t) {
      return average_pool(t[0], {3, 3}, {.strides = {2, 2}, .padding = "same"});
    });
  }
  add_recurrent_samples(samples, float32);
  add_recurrent_samples(samples, float64);
  samples.add("CTCLoss", {sample_numbers({19, 30, 11}, -2, 2)}, [](const Tensors& t) {
    const auto lengths = [](double length) { return Tensor::full({19}, length, int32); };
    return ctc_loss(sample_indices({19, 6}, 10) + Tensor::full({}, 1, int32), t[0], lengths(6), lengths(30));
  });
}

void add_image_samples(OpSamples& samples) {
  const Tensor images = sample_numbers({7, 29, 31, 3});
  for (const char* how : {"nearest", "bilinear", "bicubic", "lanczos3", "area"}) {
    samples.add("Resize by " + std::string(how), {images},
                [=](const Tensors& t) { return resize(t[0], 47, 20, {.interpolation = how}); });
  }
  samples.add_second_order();
  const Tensor turn = tensor_of({0.9, 0.1, 1, -0.1, 0.9, 2, 0, 0}, {1, 8}, float32);
  for (const char* outside : {"constant", "reflect"}) {
    samples.add("AffineTransform with " + std::string(outside), {images}, [=](const Tensors& t) {
      return affine_transform(t[0], run_op("BroadcastTo", {turn}, {{"shape", std::vector<std::int64_t>{7, 8}}}),
                              {.fill_mode = outside});
    });
  }
  samples.add_second_order();
}

}  // namespace cohort::test
