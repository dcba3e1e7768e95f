#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct PiecewiseConstantDecayOptions {
  std::string name = "PiecewiseConstant";
};

// values[i] up to and including step boundaries[i], the last value after the last boundary.
class PiecewiseConstantDecaySchedule : public LearningRateSchedule {
 public:
  PiecewiseConstantDecaySchedule(std::vector<double> boundaries, std::vector<double> values,
                                 PiecewiseConstantDecayOptions options = {});
  std::string class_name() const override { return "PiecewiseConstantDecay"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  std::vector<double> boundaries_;
  std::vector<double> values_;
  PiecewiseConstantDecayOptions options_;
};

struct PiecewiseConstantDecay : Ref<PiecewiseConstantDecaySchedule> {
  PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values,
                         PiecewiseConstantDecayOptions options = {})
      : Ref(std::make_shared<PiecewiseConstantDecaySchedule>(std::move(boundaries), std::move(values),
                                                             std::move(options))) {}
};

}  // namespace cohort::optimizers::schedules
