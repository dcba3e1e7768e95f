#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct CosineDecayRestartsOptions {
  // Length of each period as a multiple of the one before it.
  double t_mul = 2.0;
  // Highest rate of each period as a multiple of the one before it.
  double m_mul = 1.0;
  // The lowest rate, as a fraction of the initial one.
  double alpha = 0.0;
  std::string name = "SGDRDecay";
};
COHORT_FIELDS(CosineDecayRestartsOptions, t_mul, m_mul, alpha, name)

class CosineDecayRestartsSchedule : public LearningRateSchedule {
 public:
  CosineDecayRestartsSchedule() : CosineDecayRestartsSchedule(0.1, 1) {}
  CosineDecayRestartsSchedule(double initial_learning_rate, std::int64_t first_decay_steps,
                              CosineDecayRestartsOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t first_decay_steps_;
  CosineDecayRestartsOptions options_;
};

// Half cosines from the initial rate downwards, one after the other: each `t_mul` times as long and `m_mul` times as
// high.
//   initial_learning_rate: rate at step 0.
//   first_decay_steps: steps of the first period.
struct CosineDecayRestarts : Ref<CosineDecayRestartsSchedule> {
  CosineDecayRestarts(double initial_learning_rate, std::int64_t first_decay_steps,
                      CosineDecayRestartsOptions options = {});
};

}  // namespace cohort::optimizers::schedules
