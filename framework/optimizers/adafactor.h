#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers {

struct AdafactorOptions {
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 0.001;
  double clip_threshold = 1.0;
  bool relative_step = true;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "adafactor";
};

// Adam that keeps only row and column means of the squared gradient of a matrix. It looks across a whole variable.
class AdafactorOptimizer : public Optimizer {
 public:
  explicit AdafactorOptimizer(LearningRate learning_rate = 0.001, AdafactorOptions options = {});
  std::string class_name() const override { return "Adafactor"; }
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Variables& variables) override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;
  bool needs_whole_variable() const override { return true; }

 protected:
  bool decays_in_update() const override { return true; }

 private:
  AdafactorOptions options_;
  struct Slots {
    Variable rows, columns, velocity;
  };
  std::vector<Slots> slots_;
};

struct Adafactor : Optimizer::Handle<AdafactorOptimizer> {
  explicit Adafactor(LearningRate learning_rate = 0.001, AdafactorOptions options = {})
      : Handle(std::make_shared<AdafactorOptimizer>(std::move(learning_rate), std::move(options))) {}
};

}  // namespace cohort::optimizers
