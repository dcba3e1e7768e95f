#include "cohort/optimizers/schedules/inverse_time_decay.h"

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

InverseTimeDecaySchedule::InverseTimeDecaySchedule(double initial_learning_rate, std::int64_t decay_steps,
                                                   double decay_rate, InverseTimeDecayOptions options)
    : initial_learning_rate_(initial_learning_rate),
      decay_steps_(decay_steps),
      decay_rate_(decay_rate),
      options_(std::move(options)) {
  InverseTimeDecaySchedule::fields_changed();
}

void InverseTimeDecaySchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("initial_learning_rate", initial_learning_rate_);
  visitor.field("decay_steps", decay_steps_);
  visitor.field("decay_rate", decay_rate_);
  visit_options(options_, visitor);
}

void InverseTimeDecaySchedule::fields_changed() {
  if (decay_steps_ <= 0) {
    throw invalid_argument("InverseTimeDecay", "decay_steps must be positive", {{"decay_steps", decay_steps_}});
  }
}

Tensor InverseTimeDecaySchedule::operator()(const Tensor& step) const {
  Tensor share = ops::cast(step, DType::Float32) / static_cast<double>(decay_steps_);
  if (options_.staircase) share = ops::floor(share);
  return initial_learning_rate_ / (share * decay_rate_ + 1.0);
}

COHORT_REGISTER(LearningRateSchedule, InverseTimeDecaySchedule, "InverseTimeDecay");

InverseTimeDecay::InverseTimeDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                                   InverseTimeDecayOptions options)
    : Ref(std::make_shared<InverseTimeDecaySchedule>(initial_learning_rate, decay_steps, decay_rate,
                                                     std::move(options))) {}

}  // namespace cohort::optimizers::schedules
