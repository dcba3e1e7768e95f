#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/config/configurable.h"
#include "cohort/core/op.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/variable.h"

namespace cohort {

// A learning rate that follows the step count. A user derives and overrides operator().
class LearningRateSchedule : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.optimizers.schedules";
  // Rate at a step (an int64 scalar), as ops.
  virtual Tensor operator()(const Tensor& step) const = 0;

  // Every schedule a file may name.
  static Registry<LearningRateSchedule>& registry();
  // The schedule registered under this name, with default arguments; throws NotFound for an unknown one.
  static std::shared_ptr<LearningRateSchedule> from_name(std::string_view name) { return registry().make(name); }
};

// What an optimizer takes as learning rate: a number or a schedule.
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}
  LearningRate(Ref<LearningRateSchedule> schedule) : schedule_(std::move(schedule)) {}
  template <std::derived_from<LearningRateSchedule> Schedule>
  LearningRate(const Ref<Schedule>& schedule) : schedule_(schedule) {}
  // The number; 0 when there is a schedule.
  double value() const { return value_; }
  // The schedule; empty when there is a number.
  const Ref<LearningRateSchedule>& schedule() const { return schedule_; }
  // Replaces the number.
  void set_value(double value) { value_ = value; }

 private:
  double value_ = 0.0;
  Ref<LearningRateSchedule> schedule_;
};

// In a config the number, or the schedule in its place.
template <>
struct FieldCodec<LearningRate> {
  static ConfigValue to(const LearningRate& rate);
  static LearningRate from(const GivenField& given);
};

// The options every optimizer has, in Keras's order after its own.
struct OptimizerSettings {
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
};
COHORT_FIELDS(OptimizerSettings, weight_decay, clipnorm, global_clipnorm, clipvalue, use_ema, ema_momentum,
              ema_overwrite_frequency, loss_scale_factor, gradient_accumulation_steps)

// The shared part of an optimizer's own options.
template <class Options>
OptimizerSettings settings_of(const Options& options) {
  return {options.weight_decay,
          options.clipnorm,
          options.clipvalue,
          options.global_clipnorm,
          options.use_ema,
          options.ema_momentum,
          options.ema_overwrite_frequency,
          options.loss_scale_factor,
          options.gradient_accumulation_steps};
}

// Turns gradients into changes of variables, in two halves: `prepare` where the gradients are (clipping and the like
// across all of them) and `update_step` where each variable is. Everything is made of ops. A user derives and overrides
// build() and update_step().
class Optimizer : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.optimizers";
  Optimizer(LearningRate learning_rate, OptimizerSettings settings, std::string name);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

  // Makes the slot variables; called once, outside every trace, with the shards in a sharded variable's place. An
  // override calls the base first.
  virtual void build(const Variables& variables);
  // Builds for these variables unless that was done, as apply() does.
  void ensure_built(const Variables& variables);
  // Applies gradients (undefined ones are skipped) to variables; builds on first use. Increments `iterations`.
  virtual void apply(const Gradients& gradients, const Variables& variables);
  // Changes one variable by its gradient at the given rate: a few ops, for a built-in a single update op.
  virtual void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) = 0;
  // The loss as it enters the gradient: times the loss scale factor, which apply() takes out again.
  virtual Tensor scale_loss(const Tensor& loss) const;
  // Ends a training: with `use_ema` the variables take their averages.
  virtual void finalize_variable_values(const Variables& variables);
  // Spares these variables, and those in whose name one of the patterns (regular expressions) is found, weight decay.
  // Before build().
  void exclude_from_weight_decay(const Variables& variables, const std::vector<std::string>& names = {});
  // True when the optimizer needs to see a variable whole (Lamb, Adafactor): such a variable may not be sharded.
  virtual bool needs_whole_variable() const { return false; }

  // Name of the optimizer, the first part of its variables' paths.
  const std::string& name() const { return name_; }
  // Batches applied so far: an int64 scalar that apply() increments.
  virtual const Variable& iterations() const { return iterations_; }
  // The rate now: the variable's value, or the schedule's at the current iteration.
  virtual double learning_rate() const;
  // Sets the learning rate from the next step on; throws when a schedule decides it.
  virtual void set_learning_rate(double value);
  // None: the loss is not scaled. Before the first step.
  void set_loss_scale_factor(std::optional<double> factor) { settings_.loss_scale_factor = factor; }
  // All state in Keras's order: iterations, learning rate unless scheduled, slots.
  virtual const Variables& variables() const { return state_; }
  // True once the slot variables exist.
  bool built() const { return built_; }
  // With `use_ema`, once built: each trained variable, a shard where it is cut, and its average. Else nothing.
  virtual std::vector<std::pair<Variable, Variable>> averages() const;

  // Every optimizer that a string or a file may name.
  static Registry<Optimizer>& registry();
  // The optimizer registered under this name ("adam"), with default arguments; throws NotFound for an unknown one.
  static std::shared_ptr<Optimizer> from_name(std::string_view name) { return registry().make(name); }

  // A shared optimizer object, what the names of a user's program (Adam, SGD, ...) are.
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    // Applies gradients to variables: Optimizer::apply.
    void apply(const Gradients& gradients, const Variables& variables) const {
      this->get()->apply(gradients, variables);
    }
  };

 protected:
  // A slot shaped like `like` that lies with it, named "<path with underscores>_<name>" as Keras names it. Slots of all
  // shards of a variable count as one of variables().
  Variable add_slot(const Variable& like, const std::string& name, double initial = 0.0);
  // A slot of another shape that lies with `like`, under this very name. Not for sharded variables.
  Variable add_slot_of_shape(const Variable& like, const Shape& shape, const std::string& name, DType dtype);
  // The slot of a variable made in build(), by the order given there.
  int index_of(const Variable& variable) const;
  Tensor current_learning_rate() const;
  // Updates done so far (int64): `iterations`, in whole accumulations.
  Tensor updates_done() const;
  // The half that looks across gradients: unscaling, accumulation, clipping.
  virtual Gradients prepare(const Gradients& gradients, const Variables& variables);
  // Called once per update, before the variables' own steps.
  virtual void begin_update() {}
  // The weight decay of a variable; 0 for none.
  virtual double weight_decay_of(const Variable& variable) const;
  bool excluded_from_weight_decay(const Variable& variable) const;
  // True for built-ins, whose update ops include weight decay; else it is applied before update_step().
  virtual bool decays_in_update() const { return false; }
  // A state variable of no particular weight.
  Variable add_state(const std::string& name, const Tensor& initial);

  OptimizerSettings settings_;
  LearningRate rate_;
  std::string name_;

 private:
  void make_state();
  int position_in(const Variables& list, const Variable& variable) const;
  // The variable this one is a shard of, if the optimizer was built with all of it; else itself.
  Variable whole_of(const Variable& variable) const;
  Tensor is_update_step() const;
  void update_all(const Gradients& gradients, const Variables& variables);
  void update_when_due(const Gradients& gradients, const Variables& variables);
  void update_averages();
  Gradients clip(Gradients gradients) const;
  Gradients accumulate(Gradients gradients, const Variables& variables);

  Variable iterations_;
  Variable learning_rate_;
  Variables state_;
  Variables trained_;       // shards in the place of sharded ones
  Variables wholes_;        // the same without the cuts
  Variables averages_;      // of trained_
  Variables accumulators_;  // of wholes_
  // Slots of shards that still lack those of the other shards.
  struct SlotParts {
    std::string name;
    Variables parts;
  };
  std::vector<SlotParts> slot_parts_;
  std::size_t first_slot_ = 0;  // in state_: where the optimizer's own slots begin
  Tensor done_;                 // updates_done(), during apply()
  Variables undecayed_;
  std::vector<std::string> undecayed_names_;
  bool built_ = false;
};

}  // namespace cohort
