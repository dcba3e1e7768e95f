#include "cohort/optimizers/schedules/cosine_decay.h"

#include <numbers>

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

CosineDecaySchedule::CosineDecaySchedule(double initial_learning_rate, std::int64_t decay_steps,
                                         CosineDecayOptions options)
    : initial_learning_rate_(initial_learning_rate), decay_steps_(decay_steps), options_(std::move(options)) {
  CosineDecaySchedule::fields_changed();
}

void CosineDecaySchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("initial_learning_rate", initial_learning_rate_);
  visitor.field("decay_steps", decay_steps_);
  visit_options(options_, visitor);
}

void CosineDecaySchedule::fields_changed() {
  if (decay_steps_ <= 0) {
    throw invalid_argument("CosineDecay", "decay_steps must be positive", {{"decay_steps", decay_steps_}});
  }
}

Tensor CosineDecaySchedule::operator()(const Tensor& step) const {
  const auto length = static_cast<double>(decay_steps_), warmup = static_cast<double>(options_.warmup_steps);
  const auto decayed = [&](const Tensor& since, double from) {
    const Tensor cosine = (ops::cos(since / length * std::numbers::pi) + 1.0) * 0.5;
    return (cosine * (1.0 - options_.alpha) + options_.alpha) * from;
  };
  const Tensor now = ops::cast(step, DType::Float32);
  if (!options_.warmup_target) return decayed(ops::minimum(now, length), initial_learning_rate_);
  const double target = *options_.warmup_target;
  const Tensor held = ops::minimum(now, length + warmup);
  if (options_.warmup_steps == 0) return decayed(held, target);
  const Tensor rising = held / warmup * (target - initial_learning_rate_) + initial_learning_rate_;
  return ops::where(held < warmup, rising, decayed(held - warmup, target));
}

COHORT_REGISTER(LearningRateSchedule, CosineDecaySchedule, "CosineDecay");

CosineDecay::CosineDecay(double initial_learning_rate, std::int64_t decay_steps, CosineDecayOptions options)
    : Ref(std::make_shared<CosineDecaySchedule>(initial_learning_rate, decay_steps, std::move(options))) {}

}  // namespace cohort::optimizers::schedules
