#include "cohort/optimizers/schedules/polynomial_decay.h"

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

PolynomialDecaySchedule::PolynomialDecaySchedule(double initial_learning_rate, std::int64_t decay_steps,
                                                 PolynomialDecayOptions options)
    : initial_learning_rate_(initial_learning_rate), decay_steps_(decay_steps), options_(std::move(options)) {
  PolynomialDecaySchedule::fields_changed();
}

void PolynomialDecaySchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("initial_learning_rate", initial_learning_rate_);
  visitor.field("decay_steps", decay_steps_);
  visit_options(options_, visitor);
}

void PolynomialDecaySchedule::fields_changed() {
  if (decay_steps_ <= 0) {
    throw invalid_argument("PolynomialDecay", "decay_steps must be positive", {{"decay_steps", decay_steps_}});
  }
}

Tensor PolynomialDecaySchedule::operator()(const Tensor& step) const {
  const auto length = static_cast<double>(decay_steps_);
  Tensor now = ops::cast(step, DType::Float32), share;
  if (options_.cycle) {
    const Tensor cycles = ops::where(ops::equal(now, 0.0), 1.0, ops::ceil(now / length));
    share = now / (cycles * length);
  } else {
    share = ops::minimum(now, length) / length;
  }
  return ops::pow(1.0 - share, options_.power) * (initial_learning_rate_ - options_.end_learning_rate) +
         options_.end_learning_rate;
}

COHORT_REGISTER(LearningRateSchedule, PolynomialDecaySchedule, "PolynomialDecay");

PolynomialDecay::PolynomialDecay(double initial_learning_rate, std::int64_t decay_steps, PolynomialDecayOptions options)
    : Ref(std::make_shared<PolynomialDecaySchedule>(initial_learning_rate, decay_steps, std::move(options))) {}

}  // namespace cohort::optimizers::schedules
