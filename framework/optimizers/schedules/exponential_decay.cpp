#include "cohort/optimizers/schedules/exponential_decay.h"

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

ExponentialDecaySchedule::ExponentialDecaySchedule(double initial_learning_rate, std::int64_t decay_steps,
                                                   double decay_rate, ExponentialDecayOptions options)
    : initial_learning_rate_(initial_learning_rate),
      decay_steps_(decay_steps),
      decay_rate_(decay_rate),
      options_(std::move(options)) {
  ExponentialDecaySchedule::fields_changed();
}

void ExponentialDecaySchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("initial_learning_rate", initial_learning_rate_);
  visitor.field("decay_steps", decay_steps_);
  visitor.field("decay_rate", decay_rate_);
  visit_options(options_, visitor);
}

void ExponentialDecaySchedule::fields_changed() {
  if (decay_steps_ <= 0) {
    throw invalid_argument("ExponentialDecay", "decay_steps must be positive", {{"decay_steps", decay_steps_}});
  }
}

Tensor ExponentialDecaySchedule::operator()(const Tensor& step) const {
  Tensor share = ops::cast(step, DType::Float32) / static_cast<double>(decay_steps_);
  if (options_.staircase) share = ops::floor(share);
  return ops::pow(decay_rate_, share) * initial_learning_rate_;
}

COHORT_REGISTER(LearningRateSchedule, ExponentialDecaySchedule, "ExponentialDecay");

ExponentialDecay::ExponentialDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                                   ExponentialDecayOptions options)
    : Ref(std::make_shared<ExponentialDecaySchedule>(initial_learning_rate, decay_steps, decay_rate,
                                                     std::move(options))) {}

}  // namespace cohort::optimizers::schedules
