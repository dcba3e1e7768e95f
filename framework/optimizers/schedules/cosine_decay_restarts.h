#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers::schedules {

struct CosineDecayRestartsOptions {
  double t_mul = 2.0;
  double m_mul = 1.0;
  double alpha = 0.0;
  std::string name = "SGDRDecay";
};

// Half cosines from the initial rate downwards, one after the other: each `t_mul` times as long and `m_mul` times as
// high.
class CosineDecayRestartsSchedule : public LearningRateSchedule {
 public:
  CosineDecayRestartsSchedule(double initial_learning_rate, std::int64_t first_decay_steps,
                              CosineDecayRestartsOptions options = {});
  std::string class_name() const override { return "CosineDecayRestarts"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& step) const override;

 private:
  double initial_learning_rate_;
  std::int64_t first_decay_steps_;
  CosineDecayRestartsOptions options_;
};

struct CosineDecayRestarts : Ref<CosineDecayRestartsSchedule> {
  CosineDecayRestarts(double initial_learning_rate, std::int64_t first_decay_steps,
                      CosineDecayRestartsOptions options = {})
      : Ref(std::make_shared<CosineDecayRestartsSchedule>(initial_learning_rate, first_decay_steps,
                                                          std::move(options))) {}
};

}  // namespace cohort::optimizers::schedules
