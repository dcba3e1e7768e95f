#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers {

struct MuonOptions {
  // Decay of the mean of gradients in the Adam part.
  double adam_beta_1 = 0.9;
  // Decay of the mean of squared gradients in the Adam part.
  double adam_beta_2 = 0.999;
  // Weight decay of the variables Adam trains; none: no decay.
  std::optional<double> adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  // Weight decay of the matrices that are made orthogonal; none: no decay.
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
  // Regular expressions; variables in whose path one is found are left to Adam.
  std::vector<std::string> exclude_layers = {};
  // Leave variables with "embedding" in their path to Adam.
  bool exclude_embeddings = true;
  // First coefficient of the Newton-Schulz iteration.
  double muon_a = 3.4445;
  // Second coefficient of the Newton-Schulz iteration.
  double muon_b = -4.775;
  // Third coefficient of the Newton-Schulz iteration.
  double muon_c = 2.0315;
  // The Adam part's learning rate, as a multiple of learning_rate.
  double adam_lr_ratio = 1.0;
  // Decay of the momentum of the matrices.
  double momentum = 0.95;
  // Newton-Schulz iterations per step.
  std::int64_t ns_steps = 5;
  // Look ahead along the momentum, as Nesterov does.
  bool nesterov = true;
  // Factor of the orthogonal step, times the root of the matrix's longer side; none: the orthogonal step as it is.
  std::optional<double> rms_rate = 0.2;
};
COHORT_FIELDS(MuonOptions, adam_beta_1, adam_beta_2, epsilon, exclude_layers, muon_a, muon_b, muon_c, adam_lr_ratio,
              momentum, ns_steps, nesterov, exclude_embeddings, adam_weight_decay, rms_rate)

class MuonOptimizer : public Optimizer {
 public:
  explicit MuonOptimizer(LearningRate learning_rate = 0.001, MuonOptions options = {});
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

// Momentum made orthogonal for matrices, Adam for everything else (vectors, embeddings, what exclude_layers names). It
// needs variables whole, not sharded.
//   learning_rate: step size, a number or a schedule.
struct Muon : Optimizer::Handle<MuonOptimizer> {
  explicit Muon(LearningRate learning_rate = 0.001, MuonOptions options = {});
};

}  // namespace cohort::optimizers
