#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct PiecewiseConstantDecayOptions {
  std::string name = "PiecewiseConstant";
};
COHORT_FIELDS(PiecewiseConstantDecayOptions, name)

class PiecewiseConstantDecaySchedule : public LearningRateSchedule {
 public:
  PiecewiseConstantDecaySchedule() : PiecewiseConstantDecaySchedule({}, {0.1}) {}
  PiecewiseConstantDecaySchedule(std::vector<double> boundaries, std::vector<double> values,
                                 PiecewiseConstantDecayOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  std::vector<double> boundaries_;
  std::vector<double> values_;
  PiecewiseConstantDecayOptions options_;
};

// values[i] up to and including step boundaries[i], the last value after the last boundary.
//   boundaries: steps after which the rate changes, increasing.
//   values: rates, one more than boundaries.
struct PiecewiseConstantDecay : Ref<PiecewiseConstantDecaySchedule> {
  PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values,
                         PiecewiseConstantDecayOptions options = {});
};

}  // namespace cohort::optimizers::schedules
