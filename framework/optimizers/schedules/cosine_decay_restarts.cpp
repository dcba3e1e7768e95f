#include "cohort/optimizers/schedules/cosine_decay_restarts.h"

#include <cmath>
#include <numbers>

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

CosineDecayRestartsSchedule::CosineDecayRestartsSchedule(double initial_learning_rate, std::int64_t first_decay_steps,
                                                         CosineDecayRestartsOptions options)
    : initial_learning_rate_(initial_learning_rate),
      first_decay_steps_(first_decay_steps),
      options_(std::move(options)) {
  CosineDecayRestartsSchedule::fields_changed();
}

void CosineDecayRestartsSchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("initial_learning_rate", initial_learning_rate_);
  visitor.field("first_decay_steps", first_decay_steps_);
  visit_options(options_, visitor);
}

void CosineDecayRestartsSchedule::fields_changed() {
  if (first_decay_steps_ <= 0) {
    throw invalid_argument("CosineDecayRestarts", "first_decay_steps must be positive",
                           {{"first_decay_steps", first_decay_steps_}});
  }
}

Tensor CosineDecayRestartsSchedule::operator()(const Tensor& step) const {
  Tensor share = ops::cast(step, DType::Float32) / static_cast<double>(first_decay_steps_), restarts;
  if (options_.t_mul == 1.0) {
    restarts = ops::floor(share);
    share = share - restarts;
  } else {
    restarts = ops::floor(ops::log(1.0 - share * (1.0 - options_.t_mul)) / std::log(options_.t_mul));
    const Tensor length = ops::pow(options_.t_mul, restarts);
    share = (share - (1.0 - length) / (1.0 - options_.t_mul)) / length;
  }
  const Tensor height = ops::pow(options_.m_mul, restarts) * 0.5;
  const Tensor cosine = height * (ops::cos(share * std::numbers::pi) + 1.0);
  return (cosine * (1.0 - options_.alpha) + options_.alpha) * initial_learning_rate_;
}

COHORT_REGISTER(LearningRateSchedule, CosineDecayRestartsSchedule, "CosineDecayRestarts");

CosineDecayRestarts::CosineDecayRestarts(double initial_learning_rate, std::int64_t first_decay_steps,
                                         CosineDecayRestartsOptions options)
    : Ref(std::make_shared<CosineDecayRestartsSchedule>(initial_learning_rate, first_decay_steps, std::move(options))) {
}

}  // namespace cohort::optimizers::schedules
