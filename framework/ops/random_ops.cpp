#include "cohort/ops/random_ops.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/core/step_draws.h"
#include "cohort/ops/array.h"
#include "cohort/ops/indexing.h"

namespace cohort::ops {
namespace {

Specs infer_from_attributes(const OpCall& call) {
  const Shape shape = call.attr<Shape>("shape");
  call.check(shape.fully_known(), "every axis of the shape must be known", {{"shape", shape}});
  return {{call.attr<DType>("dtype"), shape}};
}
Specs infer_like_input(const OpCall& call) { return same_as(call.spec(0)); }

COHORT_OP("RandomUniform").inputs(0).infer(infer_from_attributes).not_differentiable().random();
COHORT_OP("RandomNormal").inputs(0).infer(infer_from_attributes).not_differentiable().random();
COHORT_OP("TruncatedNormal").inputs(0).infer(infer_from_attributes).not_differentiable().random();
COHORT_OP("Bernoulli").inputs(0).infer(infer_from_attributes).not_differentiable().random();
COHORT_OP("RandomUniformLike").inputs(1).infer(infer_like_input).not_differentiable().random();
COHORT_OP("RandomNormalLike").inputs(1).infer(infer_like_input).not_differentiable().random();
COHORT_OP("TruncatedNormalLike").inputs(1).infer(infer_like_input).not_differentiable().random();
COHORT_OP("BernoulliLike").inputs(1).infer(infer_like_input).not_differentiable().random();

// Linear in x, and the same seed makes the same mask: the gradient is the op itself.
COHORT_OP("Dropout")
    .inputs(1)
    .infer([](const OpCall& call) {
      const double rate = call.attr<double>("rate");
      call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
      call.check(rate >= 0 && rate <= 1, "rate must lie in [0, 1]", {{"rate", rate}});
      return same_as(call.spec(0));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("Dropout", {dy}, call.attributes())};
    })
    .random();

COHORT_OP("RandomPermutationLike")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      call.check(call.rank(0) >= 1, "the input must have rows", {{"input.shape", call.shape(0)}});
      return {{DType::Int64, {call.shape(0)[0]}}};
    })
    .not_differentiable()
    .random();

std::int64_t resolved(std::int64_t seed) {
  return seed == kFreshSeed ? static_cast<std::int64_t>(next_draw_seed()) : seed;
}

Tensor draw(const char* op, const Shape& shape, DType dtype, const char* first, double a, const char* second, double b,
            std::int64_t seed) {
  return run_op(op, {}, {{"shape", shape}, {"dtype", dtype}, {first, a}, {second, b}, {"seed", resolved(seed)}});
}
Tensor draw_like(const char* op, const Tensor& x, const char* first, double a, const char* second, double b,
                 std::int64_t seed) {
  return run_op(op, {x}, {{first, a}, {second, b}, {"seed", resolved(seed)}});
}

}  // namespace

Tensor random_uniform(const Shape& shape, double minval, double maxval, DType dtype, std::int64_t seed) {
  return draw("RandomUniform", shape, dtype, "minval", minval, "maxval", maxval, seed);
}
Tensor random_normal(const Shape& shape, double mean, double stddev, DType dtype, std::int64_t seed) {
  return draw("RandomNormal", shape, dtype, "mean", mean, "stddev", stddev, seed);
}
Tensor truncated_normal(const Shape& shape, double mean, double stddev, DType dtype, std::int64_t seed) {
  return draw("TruncatedNormal", shape, dtype, "mean", mean, "stddev", stddev, seed);
}
Tensor bernoulli(const Shape& shape, double probability, DType dtype, std::int64_t seed) {
  return run_op("Bernoulli", {},
                {{"shape", shape}, {"dtype", dtype}, {"probability", probability}, {"seed", resolved(seed)}});
}

Tensor random_uniform_like(const Tensor& x, double minval, double maxval, std::int64_t seed) {
  return draw_like("RandomUniformLike", x, "minval", minval, "maxval", maxval, seed);
}
Tensor random_normal_like(const Tensor& x, double mean, double stddev, std::int64_t seed) {
  return draw_like("RandomNormalLike", x, "mean", mean, "stddev", stddev, seed);
}
Tensor truncated_normal_like(const Tensor& x, double mean, double stddev, std::int64_t seed) {
  return draw_like("TruncatedNormalLike", x, "mean", mean, "stddev", stddev, seed);
}
Tensor bernoulli_like(const Tensor& x, double probability, std::int64_t seed) {
  return run_op("BernoulliLike", {x}, {{"probability", probability}, {"seed", resolved(seed)}});
}

Tensor dropout(const Tensor& x, double rate, std::int64_t seed) {
  return run_op("Dropout", {x}, {{"rate", rate}, {"seed", resolved(seed)}});
}
Tensor random_permutation_like(const Tensor& x, std::int64_t seed) {
  return run_op("RandomPermutationLike", {x}, {{"seed", resolved(seed)}});
}
Tensor shuffle(const Tensor& x, std::int64_t seed) { return gather(x, random_permutation_like(x, seed)); }

}  // namespace cohort::ops
