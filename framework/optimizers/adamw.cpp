#include "cohort/optimizers/adamw.h"

namespace cohort::optimizers {
namespace {

AdamOptions as_adam(const AdamWOptions& options) {
  return {.beta_1 = options.beta_1,
          .beta_2 = options.beta_2,
          .epsilon = options.epsilon,
          .amsgrad = options.amsgrad,
          .weight_decay = options.weight_decay,
          .clipnorm = options.clipnorm,
          .clipvalue = options.clipvalue,
          .global_clipnorm = options.global_clipnorm,
          .use_ema = options.use_ema,
          .ema_momentum = options.ema_momentum,
          .ema_overwrite_frequency = options.ema_overwrite_frequency,
          .loss_scale_factor = options.loss_scale_factor,
          .gradient_accumulation_steps = options.gradient_accumulation_steps,
          .name = options.name};
}

void check_decay(const std::optional<double>& weight_decay) {
  if (!weight_decay) throw invalid_argument("AdamW", "weight_decay must be a number", {{"weight_decay", "None"}});
}

}  // namespace

AdamWOptimizer::AdamWOptimizer() : AdamWOptimizer(0.001, as_adam(AdamWOptions())) {}

AdamWOptimizer::AdamWOptimizer(LearningRate learning_rate, AdamOptions options)
    : AdamOptimizer(std::move(learning_rate), std::move(options)) {
  check_decay(settings_.weight_decay);
}

void AdamWOptimizer::fields_changed() {
  AdamOptimizer::fields_changed();
  check_decay(settings_.weight_decay);
}

AdamW::AdamW(LearningRate learning_rate, AdamWOptions options)
    : Handle(std::make_shared<AdamWOptimizer>(std::move(learning_rate), as_adam(options))) {}

COHORT_REGISTER(Optimizer, AdamWOptimizer, "AdamW", "adamw");

}  // namespace cohort::optimizers
