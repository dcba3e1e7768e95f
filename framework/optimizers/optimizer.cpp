#include "cohort/optimizers/optimizer.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"

namespace cohort {
namespace {

Variable scalar_state(const std::string& owner, const std::string& name, double value, DType dtype) {
  Variable variable(Tensor::scalar(value, dtype),
                    {.name = name, .trainable = false, .dtype = dtype, .aggregation = Aggregation::OnlyFirstReplica});
  variable.set_path(owner + "/" + name);
  return variable;
}

}  // namespace

Optimizer::Optimizer(LearningRate learning_rate, OptimizerSettings settings, std::string name)
    : settings_(settings), rate_(std::move(learning_rate)), name_(std::move(name)) {
  make_state();
}

void Optimizer::make_state() {
  const std::string who = "Optimizer '" + name_ + "'";
  if (settings_.clipnorm.has_value() + settings_.clipvalue.has_value() + settings_.global_clipnorm.has_value() > 1) {
    throw invalid_argument(who, "only one of clipnorm, clipvalue and global_clipnorm may be set");
  }
  if (settings_.gradient_accumulation_steps && *settings_.gradient_accumulation_steps < 2) {
    throw invalid_argument(who, "gradient_accumulation_steps must be at least 2",
                           {{"gradient_accumulation_steps", *settings_.gradient_accumulation_steps}});
  }
  if (settings_.use_ema && (settings_.ema_momentum < 0.0 || settings_.ema_momentum > 1.0)) {
    throw invalid_argument(who, "ema_momentum must lie in [0, 1]", {{"ema_momentum", settings_.ema_momentum}});
  }
  if (settings_.use_ema && settings_.ema_overwrite_frequency && *settings_.ema_overwrite_frequency < 1) {
    throw invalid_argument(who, "ema_overwrite_frequency must be at least 1",
                           {{"ema_overwrite_frequency", *settings_.ema_overwrite_frequency}});
  }
  iterations_ = scalar_state(name_, "iteration", 0.0, DType::Int64);
  state_ = {iterations_};
  learning_rate_ = {};
  if (!rate_.schedule()) {
    learning_rate_ = scalar_state(name_, "learning_rate", rate_.value(), DType::Float32);
    state_.push_back(learning_rate_);
  }
}

void Optimizer::visit_fields(FieldVisitor& visitor) {
  if (learning_rate_.defined()) rate_.set_value(learning_rate());
  visitor.field("name", name_);
  rate_.visit(visitor);
  visitor.field("weight_decay", settings_.weight_decay);
  visitor.field("clipnorm", settings_.clipnorm);
  visitor.field("global_clipnorm", settings_.global_clipnorm);
  visitor.field("clipvalue", settings_.clipvalue);
  visitor.field("use_ema", settings_.use_ema);
  visitor.field("ema_momentum", settings_.ema_momentum);
  visitor.field("ema_overwrite_frequency", settings_.ema_overwrite_frequency);
  visitor.field("loss_scale_factor", settings_.loss_scale_factor);
  visitor.field("gradient_accumulation_steps", settings_.gradient_accumulation_steps);
}

void Optimizer::fields_changed() {
  if (built_) {
    throw failed_precondition("Optimizer '" + name_ + "'", "a config is read before the optimizer is built");
  }
  make_state();
}

void Optimizer::build(const Variables& variables) {
  trained_ = variables;
  if (settings_.use_ema) {
    for (const Variable& variable : variables) averages_.push_back(add_slot(variable, "average"));
  }
  if (settings_.gradient_accumulation_steps) {
    for (const Variable& variable : variables) accumulators_.push_back(add_slot(variable, "gradient_accumulator"));
  }
  first_slot_ = state_.size();
  built_ = true;
}

Variable Optimizer::add_state(const std::string& name, const Tensor& initial) {
  Variable variable(initial, {.name = name, .trainable = false, .dtype = initial.dtype()});
  variable.set_path(name_ + "/" + name);
  state_.push_back(variable);
  return variable;
}

Variable Optimizer::add_slot(const Variable& like, const std::string& name, double initial) {
  std::string full_name = like.path() + "_" + name;
  std::replace(full_name.begin(), full_name.end(), '/', '_');
  return add_state(full_name, Tensor::full(like.shape(), initial, like.dtype()));
}

int Optimizer::index_of(const Variable& variable) const {
  const auto found = std::find(trained_.begin(), trained_.end(), variable);
  if (found == trained_.end()) {
    throw invalid_argument("Optimizer '" + name_ + "'", "only variables the optimizer was built with can be updated",
                           {{"variable", variable.path()}}, "Make a new optimizer for another set of variables.");
  }
  return static_cast<int>(found - trained_.begin());
}

void Optimizer::apply(const Gradients& gradients, const Variables& variables) {
  if (gradients.size() != variables.size()) {
    throw invalid_argument("Optimizer '" + name_ + "'", "one gradient for each variable is expected",
                           {{"gradients", gradients.size()}, {"variables", variables.size()}});
  }
  if (!built_) {
    EagerScope eager;
    build(variables);
  }
  NameScope scope(name_);
  // One read for all variables, so that their updates can become one.
  struct DoneScope {
    Tensor& done;
    ~DoneScope() { done = {}; }
  } done_scope{done_};
  done_ = updates_done();
  Gradients given;
  Variables updated;
  std::string missing;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    index_of(variables[i]);
    if (gradients[i].defined()) {
      given.push_back(gradients[i]);
      updated.push_back(variables[i]);
    } else {
      missing += (missing.empty() ? "" : ", ") + variables[i].path();
    }
  }
  if (given.empty()) {
    throw invalid_argument("Optimizer '" + name_ + "'", "a gradient for at least one variable is expected",
                           {{"variables", missing}}, "Does the loss depend on the model's weights?");
  }
  if (!missing.empty()) log::warn("Optimizer '" + name_ + "': no gradient for " + missing + ".");

  const Gradients ready = prepare(given, updated);
  if (settings_.gradient_accumulation_steps) {
    update_when_due(ready, updated);
  } else {
    update_all(ready, updated);
  }
  if (settings_.use_ema) update_averages();
  for (Variable& variable : updated) {
    if (variable.constraint()) variable.assign((*variable.constraint())(variable));
  }
  iterations_.assign_add(Tensor::scalar(1, DType::Int64));
}

void Optimizer::update_all(const Gradients& gradients, const Variables& variables) {
  const Tensor rate = current_learning_rate();
  begin_update();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Variable variable = variables[i];
    if (const double decay = decays_in_update() ? 0.0 : weight_decay_of(variable); decay != 0.0) {
      variable.assign_sub(variable.value() * decay * ops::cast(rate, variable.dtype()));
    }
    update_step(gradients[i], variable, rate);
  }
}

// Updates on every step and takes it back unless the accumulation is complete: an update made of any ops can be undone,
// while not all of them could be made conditional.
void Optimizer::update_when_due(const Gradients& gradients, const Variables& variables) {
  const Tensor due = is_update_step();
  Variables touched = variables;
  touched.insert(touched.end(), state_.begin() + static_cast<std::ptrdiff_t>(first_slot_), state_.end());
  Tensors before;
  for (const Variable& variable : touched) before.push_back(variable.value());
  update_all(gradients, variables);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    touched[i].assign(ops::where(due, touched[i].value(), before[i]));
  }
}

void Optimizer::update_averages() {
  const Tensor done = updates_done();
  const Tensor momentum = ops::cast(ops::not_equal(done, 0.0), DType::Float32) * settings_.ema_momentum;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor keep = ops::cast(momentum, trained_[i].dtype());
    averages_[i].assign(keep * averages_[i].value() + (1.0 - keep) * trained_[i].value());
  }
  if (!settings_.ema_overwrite_frequency) return;
  const Tensor overwrite =
      ops::equal(ops::mod(done + 1.0, static_cast<double>(*settings_.ema_overwrite_frequency)), 0.0);
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    trained_[i].assign(ops::where(overwrite, averages_[i].value(), trained_[i].value()));
  }
}

void Optimizer::finalize_variable_values(const Variables& variables) {
  if (!settings_.use_ema || !built_) return;
  for (Variable variable : variables) {
    variable.assign(averages_[static_cast<std::size_t>(index_of(variable))].value());
  }
}

Tensor Optimizer::updates_done() const {
  if (done_.defined()) return done_;
  if (!settings_.gradient_accumulation_steps) return iterations_.value();
  return ops::floor_divide(iterations_.value(), static_cast<double>(*settings_.gradient_accumulation_steps));
}

Tensor Optimizer::current_learning_rate() const {
  return rate_.schedule() ? (*rate_.schedule())(iterations_.value()) : learning_rate_.value();
}

double Optimizer::learning_rate() const {
  if (!rate_.schedule()) return read_now(learning_rate_).item<double>();
  EagerScope eager;
  return (*rate_.schedule())(read_now(iterations_)).item<double>();
}

void Optimizer::set_learning_rate(double value) {
  if (rate_.schedule()) {
    throw failed_precondition("Optimizer '" + name_ + "'", "a learning rate that follows a schedule cannot be set",
                              {{"value", value}}, "Make the optimizer with a number as its learning rate.");
  }
  write_now(learning_rate_, Tensor::scalar(value));
}

Registry<Optimizer>& Optimizer::registry() {
  static auto* registry = new Registry<Optimizer>("optimizer");
  return *registry;
}

Registry<LearningRateSchedule>& LearningRateSchedule::registry() {
  static auto* registry = new Registry<LearningRateSchedule>("learning rate schedule");
  return *registry;
}

}  // namespace cohort
