#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct PolynomialDecayOptions {
  // Rate at the end of the decay.
  double end_learning_rate = 0.0001;
  // Exponent of the fraction of steps left; 1.0: a straight line.
  double power = 1.0;
  // Begin again from the initial rate whenever the end is reached, over longer and longer stretches.
  bool cycle = false;
  std::string name = "PolynomialDecay";
};
COHORT_FIELDS(PolynomialDecayOptions, end_learning_rate, power, cycle, name)

class PolynomialDecaySchedule : public LearningRateSchedule {
 public:
  PolynomialDecaySchedule() : PolynomialDecaySchedule(0.1, 1) {}
  PolynomialDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, PolynomialDecayOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  PolynomialDecayOptions options_;
};

// A power of the fraction of steps left leads from the initial rate to `end_learning_rate`, which stays unless `cycle`.
//   initial_learning_rate: rate at step 0.
//   decay_steps: steps from the initial rate to the last one.
struct PolynomialDecay : Ref<PolynomialDecaySchedule> {
  PolynomialDecay(double initial_learning_rate, std::int64_t decay_steps, PolynomialDecayOptions options = {});
};

}  // namespace cohort::optimizers::schedules
