#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct InverseTimeDecayOptions {
  bool staircase = false;
  std::string name = "InverseTimeDecay";
};

// initial_learning_rate / (1 + decay_rate * step / decay_steps), in whole steps with `staircase`.
class InverseTimeDecaySchedule : public LearningRateSchedule {
 public:
  InverseTimeDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                           InverseTimeDecayOptions options = {});
  std::string class_name() const override { return "InverseTimeDecay"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  double decay_rate_;
  InverseTimeDecayOptions options_;
};

struct InverseTimeDecay : Ref<InverseTimeDecaySchedule> {
  InverseTimeDecay(double initial_learning_rate, std::int64_t decay_steps, double decay_rate,
                   InverseTimeDecayOptions options = {})
      : Ref(std::make_shared<InverseTimeDecaySchedule>(initial_learning_rate, decay_steps, decay_rate,
                                                       std::move(options))) {}
};

}  // namespace cohort::optimizers::schedules
