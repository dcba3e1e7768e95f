#include "cohort/optimizers/muon.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/squares.h"
#include "cohort/variables/shards.h"

namespace cohort::optimizers {

MuonOptimizer::MuonOptimizer(LearningRate learning_rate, MuonOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {
  check();
}

void MuonOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("adam_beta_1", options_.adam_beta_1);
  visitor.field("adam_beta_2", options_.adam_beta_2);
  visitor.field("epsilon", options_.epsilon);
  visitor.field("exclude_layers", options_.exclude_layers);
  visitor.field("muon_a", options_.muon_a);
  visitor.field("muon_b", options_.muon_b);
  visitor.field("muon_c", options_.muon_c);
  visitor.field("adam_lr_ratio", options_.adam_lr_ratio);
  visitor.field("momentum", options_.momentum);
  visitor.field("ns_steps", options_.ns_steps);
  visitor.field("nesterov", options_.nesterov);
  visitor.field("exclude_embeddings", options_.exclude_embeddings);
  visitor.field("adam_weight_decay", options_.adam_weight_decay);
  visitor.field("rms_rate", options_.rms_rate);
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

// Newton-Schulz: a few steps of an odd polynomial bring all singular values near 1.
Tensor MuonOptimizer::orthogonal(const Tensor& matrix) const {
  const bool tall = matrix.shape()[0] > matrix.shape()[1];
  Tensor x = tall ? ops::transpose(matrix) : matrix;
  x = x / (ops::sqrt(ops::sum(ops::square(x))) + 1e-7);
  for (std::int64_t i = 0; i < options_.ns_steps; ++i) {
    const Tensor square = ops::matmul(x, x, false, /*transpose_b=*/true);
    x = options_.muon_a * x + ops::matmul(options_.muon_b * square + ops::matmul(options_.muon_c * square, square), x);
  }
  return tall ? ops::transpose(x) : x;
}

void MuonOptimizer::update_step(const Gradient& given, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  const Tensor gradient = ops::cast(given.dense(), variable.dtype());
  if (velocities_[i].defined()) {
    const Tensor rate = ops::cast(learning_rate, DType::Float32);
    Tensors inputs = {variable.handle(), momentums_[i].handle(), velocities_[i].handle(), gradient};
    if (given.is_slices()) inputs.push_back(ops::cast(squares_of(given), variable.dtype()));
    inputs.push_back(options_.adam_lr_ratio == 1.0 ? rate : rate * options_.adam_lr_ratio);
    inputs.push_back(updates_done());
    run_op_all("AdamUpdate", inputs,
               {{"beta_1", options_.adam_beta_1},
                {"beta_2", options_.adam_beta_2},
                {"epsilon", options_.epsilon},
                {"count", 1},
                {"groups", given.is_slices() ? 5 : 4},
                {"squares", given.is_slices()}});
    return;
  }
  const Tensor momentum = momentums_[i].value() + (gradient + momentums_[i].value() * (options_.momentum - 1.0));
  momentums_[i].assign(momentum);
  const Tensor direction = orthogonal(options_.nesterov ? gradient + options_.momentum * momentum : momentum);
  Tensor change = ops::cast(learning_rate, variable.dtype()) * direction;
  if (options_.rms_rate) {
    const Shape& shape = variable.shape();
    change = change * std::sqrt(static_cast<double>(std::max(shape[0], shape[1]))) * *options_.rms_rate;
  }
  Variable(variable).assign_sub(change);
}

namespace {

[[maybe_unused]] const bool muon_registered =
    Optimizer::registry().add("Muon", [] { return std::make_shared<MuonOptimizer>(); }, {"muon"});

}  // namespace
}  // namespace cohort::optimizers
