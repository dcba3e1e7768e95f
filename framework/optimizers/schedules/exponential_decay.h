#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct ExponentialDecayOptions {
  // Decay once every decay_steps steps instead of a little in each.
  bool staircase = false;
  std::string name = "ExponentialDecay";
};
COHORT_FIELDS(ExponentialDecayOptions, staircase, name)

class ExponentialDecaySchedule : public LearningRateSchedule {
 public:
  ExponentialDecaySchedule() : ExponentialDecaySchedule(0.1, 1, 0.9) {}
  ExponentialDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                           ExponentialDecayOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  double decay_rate_;
  ExponentialDecayOptions options_;
};

// initial_learning_rate * decay_rate^(step / decay_steps); with `staircase` the exponent is rounded down.
//   initial_learning_rate: rate at step 0.
//   decay_steps: steps in which the rate falls by the factor decay_rate.
//   decay_rate: that factor.
struct ExponentialDecay : Ref<ExponentialDecaySchedule> {
  ExponentialDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                   ExponentialDecayOptions options = {});
};

}  // namespace cohort::optimizers::schedules
