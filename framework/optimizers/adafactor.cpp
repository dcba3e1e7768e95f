#include "cohort/optimizers/adafactor.h"

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/squares.h"
#include "cohort/variables/shards.h"

namespace cohort::optimizers {
namespace {

Tensor root_mean_square(const Tensor& x) { return ops::sqrt(ops::mean(ops::square(x))); }

}  // namespace

AdafactorOptimizer::AdafactorOptimizer(LearningRate learning_rate, AdafactorOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdafactorOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("beta_2_decay", options_.beta_2_decay);
  visitor.field("epsilon_1", options_.epsilon_1);
  visitor.field("epsilon_2", options_.epsilon_2);
  visitor.field("clip_threshold", options_.clip_threshold);
  visitor.field("relative_step", options_.relative_step);
}

void AdafactorOptimizer::build(const Variables& variables) {
  if (built()) return;
  const Variables shards = shards_of(variables);
  Optimizer::build(shards);
  for (const Variable& variable : shards) {
    const Shape& shape = variable.shape();
    Slots slots;
    if (shape.rank() < 2) {
      // Keras makes these two although nothing uses them, and outside the optimizer's scope.
      for (Variable* unused : {&slots.rows, &slots.columns}) {
        *unused = add_slot_of_shape(variable, {}, variable.name(), DType::Int32);
        unused->set_path(variable.name());
      }
    } else {
      const int rank = shape.rank();
      Shape columns = shape.slice(0, rank - 2);
      columns.push_back(shape.back());
      slots.rows = add_slot_of_shape(variable, shape.slice(0, rank - 1), variable.name(), variable.dtype());
      slots.columns = add_slot_of_shape(variable, columns, variable.name(), variable.dtype());
    }
    slots.velocity = add_slot(variable, "velocity");
    slots_.push_back(std::move(slots));
  }
}

void AdafactorOptimizer::update_step(const Gradient& given, const Variable& variable, const Tensor& learning_rate) {
  const DType dtype = variable.dtype();
  const Tensor gradient = ops::cast(given.dense(), dtype), step = ops::cast(updates_done(), dtype) + 1.0;
  const Tensor limit = 1.0 / ops::sqrt(step);
  Tensor rate = ops::cast(learning_rate, dtype);
  if (!rate_.schedule() && options_.relative_step) rate = ops::minimum(rate, limit);
  const Tensor size = ops::maximum(root_mean_square(variable), options_.epsilon_2) * ops::minimum(rate, limit);
  const Tensor own_squares = ops::cast(squares_of(given), dtype), squares = own_squares + options_.epsilon_1;
  const Tensor keep = 1.0 - ops::pow(step, options_.beta_2_decay), take = 1.0 - keep;

  Slots& slots = slots_[static_cast<std::size_t>(index_of(variable))];
  Tensor velocity;
  if (variable.shape().rank() >= 2) {
    const Tensor rows = keep * slots.rows.value() + take * ops::mean(squares, -1);
    const Tensor columns = keep * slots.columns.value() + take * ops::mean(squares, -2);
    slots.rows.assign(rows);
    slots.columns.assign(columns);
    velocity = ops::expand_dims(rows / ops::mean(rows, -1, ops::keep_dims), -1) * ops::expand_dims(columns, -2);
  } else {
    velocity = keep * slots.velocity.value() + take * squares;
  }
  slots.velocity.assign(velocity);
  const Tensor direction = gradient / ops::sqrt(velocity);
  const Tensor length = given.is_slices() ? ops::sqrt(ops::mean(own_squares / velocity)) : root_mean_square(direction);
  const Tensor clipped = direction / ops::maximum(length / options_.clip_threshold, 1.0);
  Variable(variable).assign_sub(size * clipped);
}

namespace {

[[maybe_unused]] const bool adafactor_registered =
    Optimizer::registry().add("Adafactor", [] { return std::make_shared<AdafactorOptimizer>(); }, {"adafactor"});

}  // namespace
}  // namespace cohort::optimizers
