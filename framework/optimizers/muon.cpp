#include "cohort/optimizers/muon.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "cohort/core/update_op.h"
#include "cohort/optimizers/gradient_magnitudes.h"
#include "cohort/optimizers/single_op_optimizer.h"
#include "cohort/variables/shards.h"

namespace cohort::optimizers {
namespace {

void check_muon_gradient(const OpCall& call, const Shape& gradient) {
  call.check(gradient.rank() == 2, "gradients must be matrices", {{"gradient.shape", gradient}});
}

// (variable, momentum, gradient; learning_rate); ns_steps is the number of Newton-Schulz steps with a, b and c
[[maybe_unused]] const OpDef& muon_update = define_update("MuonUpdate", {.slots = 1,
                                                                         .attributes = {{"momentum", 0.95},
                                                                                        {"nesterov", true},
                                                                                        {"ns_steps", 5},
                                                                                        {"a", 3.4445},
                                                                                        {"b", -4.775},
                                                                                        {"c", 2.0315},
                                                                                        {"rate_scale", 1.0},
                                                                                        {"scale_by_size", true}},
                                                                         .check_gradient = check_muon_gradient});

}  // namespace

MuonOptimizer::MuonOptimizer(LearningRate learning_rate, MuonOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {
  check();
}

void MuonOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void MuonOptimizer::fields_changed() {
  Optimizer::fields_changed();
  check();
}

void MuonOptimizer::check() const {
  for (const std::string& pattern : options_.exclude_layers) {
    try {
      static_cast<void>(std::regex(pattern));
    } catch (const std::regex_error& error) {
      throw invalid_argument("Muon", "exclude_layers must be regular expressions",
                             {{"exclude_layers", pattern}, {"error", error.what()}});
    }
  }
}

bool MuonOptimizer::uses_adam(const Variable& variable) const {
  if (variable.shape().rank() != 2) return true;
  std::string lower = variable.path();
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (options_.exclude_embeddings && lower.find("embedding") != std::string::npos) return true;
  return std::any_of(options_.exclude_layers.begin(), options_.exclude_layers.end(), [&](const std::string& pattern) {
    return std::regex_search(variable.path(), std::regex(pattern));
  });
}

double MuonOptimizer::weight_decay_of(const Variable& variable) const {
  if (excluded_from_weight_decay(variable)) return 0.0;
  return (uses_adam(variable) ? options_.adam_weight_decay : settings_.weight_decay).value_or(0.0);
}

void MuonOptimizer::build(const Variables& variables) {
  if (built()) return;
  const Variables shards = shards_of(variables);
  Optimizer::build(shards);
  for (const Variable& variable : shards) {
    momentums_.push_back(add_slot(variable, "momentum"));
    velocities_.push_back(uses_adam(variable) ? add_slot(variable, "velocity") : Variable());
  }
}

void MuonOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  if (velocities_[i].defined()) {
    const UpdateOp adam{"AdamUpdate",
                        {{"beta_1", options_.adam_beta_1},
                         {"beta_2", options_.adam_beta_2},
                         {"epsilon", options_.epsilon},
                         {"learning_rate_ratio", options_.adam_lr_ratio}},
                        {updates_done()}};
    run_update(adam, variable, {momentums_[i], velocities_[i]}, with_squares(gradient), learning_rate,
               weight_decay_of(variable));
    return;
  }
  const UpdateOp muon{"MuonUpdate",
                      {{"momentum", options_.momentum},
                       {"nesterov", options_.nesterov},
                       {"ns_steps", options_.ns_steps},
                       {"a", options_.muon_a},
                       {"b", options_.muon_b},
                       {"c", options_.muon_c},
                       {"rate_scale", options_.rms_rate.value_or(1.0)},
                       {"scale_by_size", options_.rms_rate.has_value()}}};
  run_update(muon, variable, {momentums_[i]}, {gradient.dense()}, learning_rate, weight_decay_of(variable));
}

COHORT_REGISTER(Optimizer, MuonOptimizer, "Muon", "muon");

Muon::Muon(LearningRate learning_rate, MuonOptions options)
    : Handle(std::make_shared<MuonOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
