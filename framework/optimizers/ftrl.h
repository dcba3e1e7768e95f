#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct FtrlOptions {
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "ftrl";
};

// Follow the regularized leader: weights that do not matter become exactly zero.
class FtrlOptimizer : public SingleOpOptimizer {
 public:
  explicit FtrlOptimizer(LearningRate learning_rate = 0.001, FtrlOptions options = {});
  std::string class_name() const override { return "Ftrl"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  void check() const;
  FtrlOptions options_;
};

struct Ftrl : Optimizer::Handle<FtrlOptimizer> {
  explicit Ftrl(LearningRate learning_rate = 0.001, FtrlOptions options = {})
      : Handle(std::make_shared<FtrlOptimizer>(std::move(learning_rate), std::move(options))) {}
};

}  // namespace cohort::optimizers
