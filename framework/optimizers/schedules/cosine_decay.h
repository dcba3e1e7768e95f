#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct CosineDecayOptions {
  // The lowest rate, as a fraction of the highest one.
  double alpha = 0.0;
  std::string name = "CosineDecay";
  // Rate to rise to before the decay begins; none: no warmup.
  std::optional<double> warmup_target = std::nullopt;
  // Steps of the warmup.
  std::int64_t warmup_steps = 0;
};
COHORT_FIELDS(CosineDecayOptions, alpha, name, warmup_target, warmup_steps)

class CosineDecaySchedule : public LearningRateSchedule {
 public:
  CosineDecaySchedule() : CosineDecaySchedule(0.1, 1) {}
  CosineDecaySchedule(double initial_learning_rate, std::int64_t decay_steps, CosineDecayOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t decay_steps_;
  CosineDecayOptions options_;
};

// Half a cosine leads from the initial rate to `alpha` times it; before it, with `warmup_target`, a line leads up to
// that target.
//   initial_learning_rate: rate at step 0.
//   decay_steps: steps from the highest rate to the lowest, after the warmup.
struct CosineDecay : Ref<CosineDecaySchedule> {
  CosineDecay(double initial_learning_rate, std::int64_t decay_steps, CosineDecayOptions options = {});
};

}  // namespace cohort::optimizers::schedules
