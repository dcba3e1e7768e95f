// The half of an optimizer that works where the gradients are: what it does looks across them, not at variables.

#include <algorithm>
#include <regex>

#include "cohort/core/text.h"
#include "cohort/ops/math.h"
#include "cohort/optimizers/gradient_magnitudes.h"
#include "cohort/optimizers/optimizer.h"

namespace cohort {
namespace {

Gradient clip_to_norm(const Gradient& gradient, double limit) {
  return gradient.map(
      [&](const Tensor& values) { return values * limit / ops::maximum(ops::sqrt(sum_of_squares(gradient)), limit); });
}

Gradient clip_to_value(const Gradient& gradient, double limit) {
  return gradient.map([&](const Tensor& values) { return ops::clip(values, -limit, limit); });
}

// One factor for all gradients; not a number when their norm is not finite, so that a broken step shows.
Tensor global_scale(const Gradients& gradients, double limit) {
  Tensor squares;
  for (const Gradient& gradient : gradients) {
    const Tensor own = ops::cast(sum_of_squares(gradient), DType::Float32);
    squares = squares.defined() ? squares + own : own;
  }
  const Tensor norm = ops::sqrt(squares);
  return limit * ops::minimum(1.0 / norm, 1.0 / limit) + (norm - norm);
}

}  // namespace

Tensor Optimizer::scale_loss(const Tensor& loss) const {
  return settings_.loss_scale_factor ? loss * *settings_.loss_scale_factor : loss;
}

void Optimizer::exclude_from_weight_decay(const Variables& variables, const std::vector<std::string>& names) {
  if (built_) {
    throw failed_precondition(titled("Optimizer", name()),
                              "variables are excluded from weight decay before the optimizer is built");
  }
  for (const std::string& pattern : names) {
    try {
      static_cast<void>(std::regex(pattern));
    } catch (const std::regex_error& error) {
      throw invalid_argument(titled("Optimizer", name()), "names to exclude must be regular expressions",
                             {{"name", pattern}, {"error", error.what()}});
    }
  }
  undecayed_ = variables;
  undecayed_names_ = names;
}

bool Optimizer::excluded_from_weight_decay(const Variable& variable) const {
  const Variable whole = whole_of(variable);
  if (std::find(undecayed_.begin(), undecayed_.end(), variable) != undecayed_.end()) return true;
  if (std::find(undecayed_.begin(), undecayed_.end(), whole) != undecayed_.end()) return true;
  return std::any_of(undecayed_names_.begin(), undecayed_names_.end(),
                     [&](const std::string& pattern) { return std::regex_search(whole.name(), std::regex(pattern)); });
}

double Optimizer::weight_decay_of(const Variable& variable) const {
  if (!settings_.weight_decay || excluded_from_weight_decay(variable)) return 0.0;
  return *settings_.weight_decay;
}

Tensor Optimizer::is_update_step() const {
  const auto steps = static_cast<double>(*settings_.gradient_accumulation_steps);
  return ops::equal(ops::mod(iterations_.value() + 1.0, steps), 0.0);
}

Gradients Optimizer::accumulate(Gradients gradients, const Variables& variables) {
  const Tensor due = is_update_step();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Variable accumulator = accumulators_[static_cast<std::size_t>(position_in(wholes_, variables[i]))];
    const Tensor sum = gradients[i].dense() + accumulator.value();
    accumulator.assign(ops::where(due, 0.0, sum));
    gradients[i] = sum / static_cast<double>(*settings_.gradient_accumulation_steps);
  }
  return gradients;
}

Gradients Optimizer::clip(Gradients gradients) const {
  if (settings_.clipnorm && *settings_.clipnorm > 0.0) {
    for (Gradient& gradient : gradients) gradient = clip_to_norm(gradient, *settings_.clipnorm);
  } else if (settings_.global_clipnorm && *settings_.global_clipnorm > 0.0) {
    const Tensor scale = global_scale(gradients, *settings_.global_clipnorm);
    for (Gradient& gradient : gradients) {
      const Tensor dense = gradient.dense();
      gradient = dense * ops::cast(scale, dense.dtype());
    }
  } else if (settings_.clipvalue && *settings_.clipvalue > 0.0) {
    for (Gradient& gradient : gradients) gradient = clip_to_value(gradient, *settings_.clipvalue);
  }
  return gradients;
}

Gradients Optimizer::prepare(const Gradients& gradients, const Variables& variables) {
  Gradients ready = gradients;
  if (settings_.loss_scale_factor) {
    for (Gradient& gradient : ready) {
      gradient = gradient.map([&](const Tensor& values) { return values / *settings_.loss_scale_factor; });
    }
  }
  if (settings_.gradient_accumulation_steps) ready = accumulate(std::move(ready), variables);
  return clip(std::move(ready));
}

}  // namespace cohort
