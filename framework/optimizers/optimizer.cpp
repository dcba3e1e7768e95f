#include "cohort/optimizers/optimizer.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/optimizers/replica_gradients.h"
#include "cohort/variables/shards.h"
#include "cohort/variables/variable_body.h"
#include "cohort/variables/variable_creator.h"

namespace cohort {
namespace {

Variable scalar_state(const std::string& owner, const std::string& name, double value, DType dtype) {
  return Variable(InitialValue::constant(value, {}, dtype), {.name = name,
                                                             .trainable = false,
                                                             .dtype = dtype,
                                                             .aggregation = Aggregation::OnlyFirstReplica,
                                                             .path = owner + "/" + name});
}

// Shards that stand together in order become the variable they are of.
Variables with_shards_joined(const Variables& variables) {
  Variables result;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::shared_ptr<VariableBody> whole = variables[i].body()->whole();
    const std::size_t parts = whole ? whole->parts().size() : 0;
    if (parts > 0 && parts <= variables.size() - i &&
        std::equal(whole->parts().begin(), whole->parts().end(), variables.begin() + static_cast<std::ptrdiff_t>(i))) {
      result.push_back(Variable(whole));
      i += parts - 1;
    } else {
      result.push_back(variables[i]);
    }
  }
  return result;
}

Gradients gradients_of_shards(const Gradient& gradient, const Variables& shards) {
  if (shards.size() == 1) return {gradient};
  const std::vector<RowRange> ranges = row_ranges(shards);
  Gradients parts;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    parts.push_back(gradient.is_slices() ? Gradient(rows_of(gradient.slices(), ranges, i))
                                         : Gradient(rows_of(gradient.dense(), ranges[i])));
  }
  return parts;
}

}  // namespace

Optimizer::Optimizer(LearningRate learning_rate, OptimizerSettings settings, std::string name)
    : settings_(settings), rate_(std::move(learning_rate)), name_(std::move(name)) {
  make_state();
}

void Optimizer::make_state() {
  const std::string who = titled("Optimizer", name_);
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

ConfigValue FieldCodec<LearningRate>::to(const LearningRate& rate) {
  return rate.schedule() ? FieldCodec<Ref<LearningRateSchedule>>::to(rate.schedule()) : ConfigValue(rate.value());
}

LearningRate FieldCodec<LearningRate>::from(const GivenField& given) {
  if (const std::optional<double> number = given.value.number()) return *number;
  if (given.value.is_null()) given.refuse("a number or an object");
  return FieldCodec<Ref<LearningRateSchedule>>::from(given);
}

void Optimizer::visit_fields(FieldVisitor& visitor) {
  if (learning_rate_.defined()) rate_.set_value(learning_rate());
  visitor.field("name", name_);
  visitor.field("learning_rate", rate_);
  visit_options(settings_, visitor);
}

void Optimizer::fields_changed() {
  if (built_) {
    throw failed_precondition(titled("Optimizer", name_), "a config is read before the optimizer is built");
  }
  make_state();
}

void Optimizer::build(const Variables& variables) {
  const std::string who = titled("Optimizer", name_);
  for (const Variable& variable : variables) {
    if (variable.sharded()) {
      throw invalid_argument(who, "build() takes shards in the place of a sharded variable",
                             {{"variable", variable.path()}}, "Call ensure_built(), or leave it to apply().");
    }
  }
  trained_ = variables;
  wholes_ = with_shards_joined(variables);
  for (const Variable& whole : wholes_) {
    if (whole.sharded() && needs_whole_variable()) {
      throw invalid_argument(who, "this optimizer looks across a whole variable, which must not be sharded",
                             {{"variable", whole.path()}, {"shards", whole.shards().size()}},
                             "Leave the strategy's variable_partitioner out, or take another optimizer.");
    }
  }
  if (settings_.use_ema) {
    for (const Variable& variable : trained_) averages_.push_back(add_slot(variable, "average"));
  }
  if (settings_.gradient_accumulation_steps) {
    for (const Variable& whole : wholes_) accumulators_.push_back(add_slot(whole, "gradient_accumulator"));
  }
  first_slot_ = state_.size();
  built_ = true;
}

void Optimizer::ensure_built(const Variables& variables) {
  if (built_) return;
  EagerScope eager;
  // Slots belong to the strategy of the rest of the state, wherever the first step happens to be traced.
  VariableCreatorScope creator(iterations_.body()->made_under());
  build(shards_of(variables));
}

Variable Optimizer::whole_of(const Variable& variable) const {
  if (const std::shared_ptr<VariableBody> whole = variable.body()->whole()) {
    for (const Variable& known : wholes_) {
      if (known.body() == whole) return known;
    }
  }
  return variable;
}

Variable Optimizer::add_state(const std::string& name, const Tensor& initial) {
  state_.push_back(Variable(initial, {.name = name,
                                      .trainable = false,
                                      .dtype = initial.dtype(),
                                      .aggregation = Aggregation::OnlyFirstReplica,
                                      .path = name_ + "/" + name}));
  return state_.back();
}

Variable Optimizer::add_slot(const Variable& like, const std::string& name, double initial) {
  if (like.sharded()) {
    for (const Variable& shard : like.shards()) add_slot(shard, name, initial);
    return state_.back();
  }
  const Variable whole = whole_of(like);
  std::string full_name = whole.path() + "_" + name;
  std::replace(full_name.begin(), full_name.end(), '/', '_');
  const VariableOptions options{.name = full_name,
                                .trainable = false,
                                .dtype = like.dtype(),
                                .colocate_with = like.body(),
                                .path = name_ + "/" + full_name};
  const InitialValue value = InitialValue::constant(initial, like.shape(), like.dtype());
  if (whole == like) {
    state_.push_back(Variable(value, options));
    return state_.back();
  }
  auto slot = std::find_if(slot_parts_.begin(), slot_parts_.end(),
                           [&](const SlotParts& each) { return each.name == full_name; });
  if (slot == slot_parts_.end()) slot = slot_parts_.insert(slot, {full_name, {}});
  const Variable part(value, shard_options(options, static_cast<std::int64_t>(slot->parts.size())));
  slot->parts.push_back(part);
  if (slot->parts.size() == whole.shards().size()) {
    state_.push_back(Variable(join_shards(std::move(slot->parts), options)));
    slot_parts_.erase(slot);
  }
  return part;
}

Variable Optimizer::add_slot_of_shape(const Variable& like, const Shape& shape, const std::string& name, DType dtype) {
  state_.push_back(Variable(
      InitialValue::constant(0.0, shape, dtype),
      {.name = name, .trainable = false, .dtype = dtype, .colocate_with = like.body(), .path = name_ + "/" + name}));
  return state_.back();
}

int Optimizer::position_in(const Variables& list, const Variable& variable) const {
  const auto found = std::find(list.begin(), list.end(), variable);
  if (found == list.end()) {
    throw invalid_argument(titled("Optimizer", name_), "only variables the optimizer was built with can be updated",
                           {{"variable", variable.path()}}, "Make a new optimizer for another set of variables.");
  }
  return static_cast<int>(found - list.begin());
}

int Optimizer::index_of(const Variable& variable) const { return position_in(trained_, variable); }

void Optimizer::apply(const Gradients& gradients, const Variables& variables) {
  if (gradients.size() != variables.size()) {
    throw invalid_argument(titled("Optimizer", name_), "one gradient for each variable is expected",
                           {{"gradients", gradients.size()}, {"variables", variables.size()}});
  }
  ensure_built(variables);
  NameScope scope(name_);
  Gradients given;
  Variables updated;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    for (const Variable& shard : variables[i].shards()) index_of(shard);
    if (gradients[i].defined()) {
      given.push_back(gradients[i]);
      updated.push_back(variables[i]);
    } else {
      missing.push_back(variables[i].path());
    }
  }
  if (given.empty()) {
    throw invalid_argument(titled("Optimizer", name_), "a gradient for at least one variable is expected",
                           {{"variables", join(missing)}}, "Does the loss depend on the model's weights?");
  }
  if (!missing.empty()) log::warn(titled("Optimizer", name_) + ": no gradient for " + join(missing) + ".");

  const ReplicaGradients replicas(given);
  // One read for all variables, so that their updates can become one.
  struct DoneScope {
    Tensor& done;
    ~DoneScope() { done = {}; }
  } done_scope{done_};
  done_ = updates_done();
  const Gradients ready = prepare(replicas.summed(), updated);
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
    Variables shards = variables[i].shards();
    const Gradients parts = gradients_of_shards(gradients[i], shards);
    for (std::size_t k = 0; k < shards.size(); ++k) {
      if (const double decay = decays_in_update() ? 0.0 : weight_decay_of(shards[k]); decay != 0.0) {
        shards[k].assign_sub(shards[k].value() * decay * ops::cast(rate, shards[k].dtype()));
      }
      update_step(parts[k], shards[k], rate);
    }
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
  for (Variable& variable : shards_of(variables)) {
    variable.assign(averages_[static_cast<std::size_t>(index_of(variable))].value());
  }
}

std::vector<std::pair<Variable, Variable>> Optimizer::averages() const {
  std::vector<std::pair<Variable, Variable>> pairs;
  for (std::size_t i = 0; i < averages_.size(); ++i) pairs.emplace_back(trained_[i], averages_[i]);
  return pairs;
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
    throw failed_precondition(titled("Optimizer", name_), "a learning rate that follows a schedule cannot be set",
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
