#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct CosineDecayOptions {
  double alpha = 0.0;
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = std::nullopt;
  std::int64_t warmup_steps = 0;
};

// Half a cosine leads from the initial rate to `alpha` times it; before it, with `warmup_target`, a line leads up to
// that target.
class CosineDecaySchedule : public LearningRateSchedule {
 public:
  CosineDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, CosineDecayOptions options = {});
  std::string class_name() const override { return "CosineDecay"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  CosineDecayOptions options_;
};

struct CosineDecay : Ref<CosineDecaySchedule> {
  CosineDecay(double initial_learning_rate, std::int64_t decay_steps, CosineDecayOptions options = {})
      : Ref(std::make_shared<CosineDecaySchedule>(initial_learning_rate, decay_steps, std::move(options))) {}
};

}  // namespace cohort::optimizers::schedules
