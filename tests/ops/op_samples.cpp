#include "tests/ops/op_samples.h"

#include "cohort/autodiff/tape.h"
#include "cohort/core/random.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::test {
namespace {

Tensors gradients_of_sample(const OpSample& sample, const Tensors& inputs, Tensors* results = nullptr) {
  GradientTape tape;
  Tensors sources, targets, weights, gradients;
  for (const Tensor& input : inputs) {
    if (!is_floating(input.dtype())) continue;
    tape.watch(input);
    sources.push_back(input);
  }
  Tensors outputs = sample.run(inputs);
  for (const Tensor& output : outputs) {
    if (!is_floating(output.dtype())) continue;
    targets.push_back(output);
    weights.push_back(sample_numbers(output.shape(), -1, 1, output.dtype(), 99));
  }
  for (const Gradient& each : tape.gradients(targets, sources, weights)) {
    if (each.defined()) gradients.push_back(each.dense());
  }
  if (results) *results = std::move(outputs);
  return gradients;
}

}  // namespace

OpSamples op_samples() {
  OpSamples samples;
  add_elementwise_samples(samples);
  add_array_samples(samples);
  add_index_samples(samples);
  add_reduction_samples(samples);
  add_product_samples(samples);
  add_network_samples(samples);
  add_image_samples(samples);
  add_linalg_samples(samples);
  add_random_samples(samples);
  add_text_samples(samples);
  add_variable_samples(samples);
  return samples;
}

Tensors results_of(const OpSample& sample) {
  set_random_seed(5);
  if (!sample.gradient) return sample.run(sample.inputs);
  Tensors results;
  const Tensors gradients = gradients_of_sample(sample, sample.inputs, &results);
  results.insert(results.end(), gradients.begin(), gradients.end());
  return results;
}

Tensor sample_numbers(const Shape& shape, double low, double high, DType dtype, std::int64_t seed) {
  return ops::cast(ops::random_uniform(shape, low, high, DType::Float32, seed), dtype);
}

Tensor sample_indices(const Shape& shape, std::int64_t count, std::int64_t seed, DType dtype) {
  return ops::cast(ops::floor(ops::random_uniform(shape, 0, static_cast<double>(count), DType::Float32, seed)), dtype);
}

void OpSamples::add_second_order() {
  const OpSample sample = back();
  add("gradient of " + sample.name, sample.inputs,
      [=](const Tensors& inputs) { return gradients_of_sample(sample, inputs); });
}

}  // namespace cohort::test
