#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  std::string name = "PolynomialDecay";
};

// A power of the steps left leads from the initial rate to `end_learning_rate`; with `cycle` ever again, over longer
// stretches.
class PolynomialDecaySchedule : public LearningRateSchedule {
 public:
  PolynomialDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, PolynomialDecayOptions options = {});
  std::string class_name() const override { return "PolynomialDecay"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  PolynomialDecayOptions options_;
};

struct PolynomialDecay : Ref<PolynomialDecaySchedule> {
  PolynomialDecay(double initial_learning_rate, std::int64_t decay_steps, PolynomialDecayOptions options = {})
      : Ref(std::make_shared<PolynomialDecaySchedule>(initial_learning_rate, decay_steps, std::move(options))) {}
};

}  // namespace cohort::optimizers::schedules
