#include "cohort/optimizers/schedules/piecewise_constant_decay.h"

#include "cohort/ops/math.h"

namespace cohort::optimizers::schedules {

PiecewiseConstantDecaySchedule::PiecewiseConstantDecaySchedule(std::vector<double> boundaries,
                                                               std::vector<double> values,
                                                               PiecewiseConstantDecayOptions options)
    : boundaries_(std::move(boundaries)), values_(std::move(values)), options_(std::move(options)) {
  PiecewiseConstantDecaySchedule::fields_changed();
}

void PiecewiseConstantDecaySchedule::visit_fields(FieldVisitor& visitor) {
  visitor.field("boundaries", boundaries_);
  visitor.field("values", values_);
  visit_options(options_, visitor);
}

void PiecewiseConstantDecaySchedule::fields_changed() {
  if (values_.size() != boundaries_.size() + 1) {
    throw invalid_argument("PiecewiseConstantDecay", "one value more than boundaries is expected",
                           {{"boundaries", boundaries_.size()}, {"values", values_.size()}});
  }
}

Tensor PiecewiseConstantDecaySchedule::operator()(const Tensor& step) const {
  Tensor rate = Tensor::scalar(values_.back());
  for (std::size_t i = boundaries_.size(); i-- > 0;) {
    rate = ops::where(step <= boundaries_[i], values_[i], rate);
  }
  return rate;
}

COHORT_REGISTER(LearningRateSchedule, PiecewiseConstantDecaySchedule, "PiecewiseConstantDecay");

PiecewiseConstantDecay::PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values,
                                               PiecewiseConstantDecayOptions options)
    : Ref(std::make_shared<PiecewiseConstantDecaySchedule>(std::move(boundaries), std::move(values),
                                                           std::move(options))) {}

}  // namespace cohort::optimizers::schedules
