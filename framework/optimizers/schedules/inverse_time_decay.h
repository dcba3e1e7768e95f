#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct InverseTimeDecayOptions {
  // Decay once every decay_steps steps instead of a little in each.
  bool staircase = false;
  std::string name = "InverseTimeDecay";
};
COHORT_FIELDS(InverseTimeDecayOptions, staircase, name)

class InverseTimeDecaySchedule : public LearningRateSchedule {
 public:
  InverseTimeDecaySchedule() : InverseTimeDecaySchedule(0.1, 1, 0.5) {}
  InverseTimeDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                           InverseTimeDecayOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  double decay_rate_;
  InverseTimeDecayOptions options_;
};

// initial_learning_rate / (1 + decay_rate * step / decay_steps); with `staircase` step / decay_steps is rounded down.
//   initial_learning_rate: rate at step 0.
//   decay_steps: steps that count as one.
//   decay_rate: how fast the denominator grows.
struct InverseTimeDecay : Ref<InverseTimeDecaySchedule> {
  InverseTimeDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                   InverseTimeDecayOptions options = {});
};

}  // namespace cohort::optimizers::schedules
