#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/text.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/ops/op_samples.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

// A sample of each op on a variable that begins as x[0].
void add_variable_sample(OpSamples& samples, const char* name, Tensors inputs,
                         std::function<void(Variable&, const Tensors&)> change) {
  samples.add_plain(name, std::move(inputs), [=](const Tensors& x) {
    Variable variable(x[0]);
    change(variable, x);
    return read_now(variable);
  });
}

// A matrix of many blocks, a vector and a kernel of four axes; then some rows of the matrix alone.
Tensors trained_variables(Optimizer& optimizer) {
  const std::vector<Shape> shapes = {{300, 170}, {70000}, {3, 3, 20, 30}};
  Variables variables;
  Gradients gradients;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto seed = static_cast<std::int64_t>(i);
    variables.push_back(Variable(sample_numbers(shapes[i], seed), {.name = "weight_" + std::to_string(i)}));
    gradients.push_back(sample_numbers(shapes[i], seed + 10));
  }
  optimizer.apply(gradients, variables);
  optimizer.apply(gradients, variables);
  gradients[0] = IndexedSlices{sample_numbers({400, 170}, 7), sample_indices({400}, 300), variables[0].value()};
  optimizer.apply(gradients, variables);
  Tensors results;
  for (const Variable& variable : variables) results.push_back(read_now(variable));
  for (const Variable& variable : optimizer.variables()) results.push_back(read_now(variable));
  return results;
}

using MakeSampleOptimizer = Ref<Optimizer> (*)();
const std::pair<const char*, MakeSampleOptimizer> kSampleOptimizers[] = {
    {"SGD", [] { return Ref<Optimizer>(optimizers::SGD(0.1)); }},
    {"SGD with momentum", [] { return Ref<Optimizer>(optimizers::SGD(0.1, {.momentum = 0.9, .nesterov = true})); }},
    {"Adam", [] { return Ref<Optimizer>(optimizers::Adam(0.1, {.amsgrad = true})); }},
    {"AdamW", [] { return Ref<Optimizer>(optimizers::AdamW(0.1, {.clipnorm = 1.0})); }},
    {"global norm", [] { return Ref<Optimizer>(optimizers::Adam(0.1, {.global_clipnorm = 1.0, .use_ema = true})); }},
    {"RMSprop", [] { return Ref<Optimizer>(optimizers::RMSprop(0.1, {.momentum = 0.5, .centered = true})); }},
    {"Adagrad", [] { return Ref<Optimizer>(optimizers::Adagrad(0.1)); }},
    {"Adadelta", [] { return Ref<Optimizer>(optimizers::Adadelta(0.1)); }},
    {"Adamax", [] { return Ref<Optimizer>(optimizers::Adamax(0.1)); }},
    {"Nadam", [] { return Ref<Optimizer>(optimizers::Nadam(0.1)); }},
    {"Ftrl", [] { return Ref<Optimizer>(optimizers::Ftrl(0.1, {.l1_regularization_strength = 0.01})); }},
    {"Lion", [] { return Ref<Optimizer>(optimizers::Lion(0.1)); }},
    {"Lamb", [] { return Ref<Optimizer>(optimizers::Lamb(0.1, {.weight_decay = 0.1})); }},
    {"Adafactor", [] { return Ref<Optimizer>(optimizers::Adafactor(0.1)); }},
    {"Muon", [] { return Ref<Optimizer>(optimizers::Muon(0.1)); }},
    {"ScheduleFreeAdamW", [] { return Ref<Optimizer>(optimizers::ScheduleFreeAdamW(0.1)); }},
};

}  // namespace

void add_linalg_samples(OpSamples& samples) {
  const Tensor x = sample_numbers({301, 6, 6}), b = sample_numbers({301, 6, 4}, 2);
  const Tensor positive = matmul(x, x, false, true) + eye(6);
  samples.add("Cholesky", {positive}, [](const Tensors& t) { return cholesky(t[0]); });
  samples.add("Det", {positive}, [](const Tensors& t) { return det(t[0]); });
  samples.add("Slogdet", {positive}, [](const Tensors& t) { return slogdet(t[0]).logabsdet; });
  samples.add("Inv", {positive}, [](const Tensors& t) { return inv(t[0]); });
  samples.add("LuFactor", {x}, [](const Tensors& t) { return Tensors{lu_factor(t[0]).lu, lu_factor(t[0]).pivots}; });
  samples.add("Solve", {positive, b}, [](const Tensors& t) { return solve(t[0], t[1]); });
  samples.add("SolveTriangular", {positive, b}, [](const Tensors& t) { return solve_triangular(t[0], t[1], true); });
  // Of some matrices among many, gradients are so large that they enlarge every rounding: not so of these. Singular
  // values of the tall ones are near 1, 2, 3 and 4.
  const Tensor tall = b * 0.1 + eye(6, 4) * Tensor::of({1.0f, 2.0f, 3.0f, 4.0f}, {4});
  samples.add("Qr", {positive}, [](const Tensors& t) { return Tensors{qr(t[0]).q, qr(t[0]).r}; });
  samples.add("Eigh", {positive}, [](const Tensors& t) { return Tensors{eigh(t[0]).w, eigh(t[0]).v}; });
  samples.add("Svd", {tall}, [](const Tensors& t) {
    const linalg::Svd parts = svd(t[0], false);
    return Tensors{parts.u, parts.s, parts.vh};
  });
  samples.add("Pinv", {tall}, [](const Tensors& t) { return pinv(t[0]); });
  samples.add("Lstsq", {tall, sample_numbers({301, 6, 2}, 3)}, [](const Tensors& t) { return lstsq(t[0], t[1]); });
}

void add_random_samples(OpSamples& samples) {
  const Shape shape = {301, 303};
  const Tensor x = sample_numbers(shape);
  for (DType dtype : {float32, bfloat16, float64}) {
    samples.add_plain(std::string("random numbers of ") + to_string(dtype), {}, [=](const Tensors&) {
      return Tensors{random_uniform(shape, 0, 1, dtype, 3), random_normal(shape, 0, 1, dtype, 3),
                     truncated_normal(shape, 0, 1, dtype, 3), bernoulli(shape, 0.3, dtype, 3)};
    });
  }
  samples.add_plain("random numbers like others", {x}, [](const Tensors& t) {
    return Tensors{random_uniform_like(t[0]), random_normal_like(t[0]), truncated_normal_like(t[0]),
                   bernoulli_like(t[0]), random_permutation_like(t[0])};
  });
  samples.add("Dropout", {x}, [](const Tensors& t) { return dropout(t[0], 0.3); });
}

void add_text_samples(OpSamples& samples) {
  std::vector<std::string> words;
  for (int i = 0; i < 4000; ++i) words.push_back("Word " + std::to_string(i * 7919 % 251));
  const Tensor texts = Tensor::of_strings(words, {4000});
  const Tensor vocabulary = Tensor::of_strings({words.begin(), words.begin() + 20}, {20});
  samples.add_plain("HashBuckets", {texts}, [](const Tensors& t) { return hash_buckets(t[0], 97); });
  samples.add_plain("TokenizeText", {texts},
                    [](const Tensors& t) { return tokenize(standardize_text(t[0], "lower")); });
  samples.add_plain("LookupIndex", {texts, vocabulary},
                    [](const Tensors& t) { return lookup_index(t[0], {.vocabulary = t[1], .first_index = 1}); });
  samples.add_plain("LookupToken", {sample_indices({4000}, 25, 1, int64).to_host(), vocabulary},
                    [](const Tensors& t) { return lookup_token(t[0], t[1], 1, Tensor::of_strings({"?"}, {})); });
}

void add_variable_samples(OpSamples& samples) {
  const Tensor x = sample_numbers({700, 201}), y = sample_numbers({700, 201}, 2);
  add_variable_sample(samples, "AssignVariable", {x, y}, [](Variable& v, const Tensors& t) { v.assign(t[1]); });
  add_variable_sample(samples, "AssignAddVariable", {x, y}, [](Variable& v, const Tensors& t) { v.assign_add(t[1]); });
  add_variable_sample(samples, "AssignSubVariable", {x, y}, [](Variable& v, const Tensors& t) { v.assign_sub(t[1]); });
  samples.add_plain("AssignAddVariables", {x, sample_numbers({40, 71}, 4)}, [](const Tensors& t) {
    const Variable whole(t[0]), total(Tensor::scalar(0.5)), mean(Tensor::scalar(2));
    const Variable count(Tensor::scalar(3, int64), {.dtype = int64});
    run_op_all(
        "AssignAddVariables",
        {whole.handle(), total.handle(), mean.handle(), count.handle(), t[0], t[1], t[1], Tensor::scalar(1, int64)},
        {{"factors", std::vector<double>{0.3, -1, 64, -1}},
         {"reductions", std::vector<std::string>{"", "Sum", "Mean", ""}}});
    return Tensors{read_now(whole), read_now(total), read_now(mean), read_now(count)};
  });
  add_variable_sample(samples, "ScatterAddVariable", {x, sample_indices({900}, 700), sample_numbers({900, 201}, 3)},
                      [](Variable& v, const Tensors& t) { v.scatter_add(t[1], t[2]); });
  samples.add_plain("CopyVariable", {x}, [](const Tensors& t) {
    return run_op("CopyVariable", {Variable(t[0]).handle()}, {{"dtype", t[0].dtype()}, {"shape", t[0].shape()}});
  });
  for (const auto& [name, make] : kSampleOptimizers) {
    samples.add_plain(name, {}, [make = make](const Tensors&) { return trained_variables(*make()); });
  }
}

}  // namespace cohort::test
