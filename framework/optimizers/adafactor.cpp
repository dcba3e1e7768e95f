#include "cohort/optimizers/adafactor.h"

#include "cohort/core/update_op.h"
#include "cohort/optimizers/gradient_magnitudes.h"
#include "cohort/optimizers/single_op_optimizer.h"
#include "cohort/variables/shards.h"

namespace cohort::optimizers {
namespace {

// With `factored` the last two slots are means of a matrix's rows and columns: each lacks an axis of the variable.
TensorSpec adafactor_slot(const OpCall& call, int kind, const TensorSpec& gradient) {
  const int rank = gradient.shape.rank();
  if (kind == 0 || !call.attr<bool>("factored")) return gradient;
  Shape shape = gradient.shape.slice(0, rank - 2);
  shape.push_back(gradient.shape[kind == 1 ? rank - 2 : rank - 1]);
  return {gradient.dtype, shape};
}

void check_adafactor_gradient(const OpCall& call, const Shape& gradient) {
  call.check(!call.attr<bool>("factored") || gradient.rank() >= 2,
             "gradients of a factored update must have at least 2 axes", {{"gradient.shape", gradient}});
}

// (variable, velocity [, row means, column means with factored], gradient; learning_rate, iterations)
[[maybe_unused]] const OpDef& adafactor_update =
    define_update("AdafactorUpdate", {.slots = 1,
                                      .shared = {kLearningRate, kIterations},
                                      .attributes = {{"beta_2_decay", -0.8},
                                                     {"epsilon_1", 1e-30},
                                                     {"epsilon_2", 0.001},
                                                     {"clip_threshold", 1.0},
                                                     {"factored", false}},
                                      .more_slots = [](const OpCall& c) { return c.attr<bool>("factored") ? 2 : 0; },
                                      .slot_spec = adafactor_slot,
                                      .check_gradient = check_adafactor_gradient});

}  // namespace

AdafactorOptimizer::AdafactorOptimizer(LearningRate learning_rate, AdafactorOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdafactorOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
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

// The rate never exceeds one over the root of the step count, relative_step or not: as in Keras.
void AdafactorOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const Slots& slots = slots_[static_cast<std::size_t>(index_of(variable))];
  const bool factored = variable.shape().rank() >= 2;
  const UpdateOp op{"AdafactorUpdate",
                    {{"beta_2_decay", options_.beta_2_decay},
                     {"epsilon_1", options_.epsilon_1},
                     {"epsilon_2", options_.epsilon_2},
                     {"clip_threshold", options_.clip_threshold},
                     {"factored", factored}},
                    {updates_done()}};
  run_update(op, variable, factored ? Variables{slots.velocity, slots.rows, slots.columns} : Variables{slots.velocity},
             with_squares(gradient), learning_rate, weight_decay_of(variable));
}

COHORT_REGISTER(Optimizer, AdafactorOptimizer, "Adafactor", "adafactor");

Adafactor::Adafactor(LearningRate learning_rate, AdafactorOptions options)
    : Handle(std::make_shared<AdafactorOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
