#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers {

struct MuonOptions {
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = 0.004;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "muon";
  std::vector<std::string> exclude_layers = {};  // regular expressions on a variable's path
  bool exclude_embeddings = true;
  double muon_a = 3.4445;
  double muon_b = -4.775;
  double muon_c = 2.0315;
  double adam_lr_ratio = 1.0;
  double momentum = 0.95;
  std::int64_t ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;
};

// Momentum made orthogonal for matrices, Adam for everything else (vectors, embeddings, what exclude_layers names). It
// looks across a whole variable.
class MuonOptimizer : public Optimizer {
 public:
  explicit MuonOptimizer(LearningRate learning_rate = 0.001, MuonOptions options = {});
  std::string class_name() const override { return "Muon"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Variables& variables) override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;
  bool needs_whole_variable() const override { return true; }

 protected:
  double weight_decay_of(const Variable& variable) const override;
  bool decays_in_update() const override { return true; }

 private:
  void check() const;
  bool uses_adam(const Variable& variable) const;
  MuonOptions options_;
  Variables momentums_;
  Variables velocities_;  // undefined for matrices
};

struct Muon : Optimizer::Handle<MuonOptimizer> {
  explicit Muon(LearningRate learning_rate = 0.001, MuonOptions options = {})
      : Handle(std::make_shared<MuonOptimizer>(std::move(learning_rate), std::move(options))) {}
};

}  // namespace cohort::optimizers
