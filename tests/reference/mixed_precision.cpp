// Mixed precision: bfloat16 computation on float32 weights by the global policy, float16 with a scaled loss by the
// layer.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;

int main() {
  ch::set_random_seed(12);
  const ch::Tensor x = ch::ops::random_normal({256, 8});
  const ch::Tensor y = ch::ops::sum(ch::ops::square(x), -1, ch::ops::keep_dims);

  ch::mixed_precision::set_global_policy("mixed_bfloat16");
  layers::Dense hidden(32, {.activation = "relu"});
  ch::Sequential model({hidden, layers::Dense(1, {.dtype = "float32"})});
  model.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  const ch::History history = model.fit(x, y, {.epochs = 15, .verbose = 0});
  check(hidden->compute_dtype() == ch::DType::BFloat16, "it computes in bfloat16");
  check(hidden->trainable_variables().front().dtype() == ch::DType::Float32, "its weights are float32");
  check(hidden(x).dtype() == ch::DType::BFloat16, "its outputs are bfloat16");
  check(model.predict(x, {.verbose = 0}).dtype() == ch::DType::Float32, "the head's are float32");
  check(history["loss"].back() < 0.5 * history["loss"].front(), "it learns");

  ch::mixed_precision::set_global_policy("mixed_float16");
  ch::Sequential half({layers::Dense(16, {.activation = "relu"}), layers::Dense(1, {.dtype = "float32"})});
  half.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  const ch::History halves = half.fit(x, y, {.epochs = 8, .verbose = 0});
  check(half.optimizer()->class_name() == "LossScaleOptimizer", "under mixed_float16 the loss is scaled");
  check(halves["loss"].back() < halves["loss"].front(), "it learns, too");
  ch::mixed_precision::set_global_policy("float32");
}
