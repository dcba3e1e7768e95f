#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/core/op.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/variable.h"

namespace cohort {

// A rate that follows the step count.
class LearningRateSchedule : public Configurable {
 public:
  std::string module_name() const override { return "keras.optimizers.schedules"; }
  // Rate at a step (an int64 scalar), as ops.
  virtual Tensor operator()(const Tensor& step) const = 0;

  static Registry<LearningRateSchedule>& registry();
  static std::shared_ptr<LearningRateSchedule> from_name(std::string_view name) { return registry().make(name); }
};

// A number or a schedule.
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}
  LearningRate(Ref<LearningRateSchedule> schedule) : schedule_(std::move(schedule)) {}
  double value() const { return value_; }
  const Ref<LearningRateSchedule>& schedule() const { return schedule_; }

 private:
  double value_ = 0.0;
  Ref<LearningRateSchedule> schedule_;
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

// Turns gradients into changes of variables, in two halves: `prepare` where the gradients are (clipping and the like
// across all of them) and `update_step` where each variable is. Everything is made of ops. A user derives and overrides
// build() and update_step().
class Optimizer : public Configurable {
 public:
  Optimizer(LearningRate learning_rate, OptimizerSettings settings, std::string name);
  std::string module_name() const override { return "keras.optimizers"; }

  // Makes the slot variables; called once, outside every trace. An override calls the base first.
  virtual void build(const Variables& variables);
  // Applies gradients (undefined ones are skipped) to variables; builds on first use. Increments `iterations`.
  void apply(const Gradients& gradients, const Variables& variables);
  // Changes one variable by its gradient at the given rate: a few ops, for a built-in a single update op.
  virtual void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) = 0;
  // True when the optimizer needs to see a variable whole (Lamb, Adafactor): such a variable may not be sharded.
  virtual bool needs_whole_variable() const { return false; }

  const std::string& name() const { return name_; }
  const Variable& iterations() const { return iterations_; }
  // The rate now: the variable's value, or the schedule's at the current iteration.
  double learning_rate() const;
  void set_learning_rate(double value);
  // All state in Keras's order: iterations, learning rate unless scheduled, slots.
  const Variables& variables() const { return state_; }
  bool built() const { return built_; }

  static Registry<Optimizer>& registry();
  static std::shared_ptr<Optimizer> from_name(std::string_view name) { return registry().make(name); }

  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    void apply(const Gradients& gradients, const Variables& variables) const { this->get()->apply(gradients, variables); }
  };

 protected:
  // A slot shaped like `like`, named "<path with underscores>_<name>" as Keras names it.
  Variable add_slot(const Variable& like, const std::string& name, double initial = 0.0);
  // The slot of a variable made in build(), by the order given there.
  int index_of(const Variable& variable) const;
  Tensor current_learning_rate() const;
  // The half that looks across gradients: accumulation, clipping, unscaling.
  virtual Gradients prepare(const Gradients& gradients, const Variables& variables);

  OptimizerSettings settings_;
  LearningRate rate_;

 private:
  std::string name_;
  Variable iterations_;
  Variable learning_rate_;
  Variables state_;
  Variables trained_;
  bool built_ = false;
};

}  // namespace cohort
