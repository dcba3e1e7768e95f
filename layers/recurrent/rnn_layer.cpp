#include "cohort/layers/recurrent/rnn_layer.h"

#include "cohort/autodiff/control_flow.h"
#include "cohort/model/layer/layer_call_scope.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {
namespace {

// The mask of a step, (batch,), beside a tensor (batch, ...).
Tensor mask_beside(Tensor mask, const Tensor& beside) {
  while (mask.rank() < beside.rank()) mask = ops::expand_dims(mask, -1);
  return mask;
}

}  // namespace

RnnLayer::RnnLayer(Ref<RnnCell> cell, RnnSettings settings) : settings_(settings) {
  supports_masking_ = true;
  if (cell) set_cell(std::move(cell));
}

void RnnLayer::set_cell(Ref<RnnCell> cell) {
  if (cell_) untrack_last_layer();
  cell_ = track("cell", std::move(cell));
}

void RnnLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(settings_, visitor);
}

void RnnLayer::fields_changed() {
  if (!cell_) throw invalid_argument(class_name(), "a cell must be given", {{"cell", "none"}});
}

void RnnLayer::check_sequences(const Shape& sequences) const {
  const int rank = sequence_rank();
  if (rank == 0 ? sequences.rank() >= 3 : sequences.rank() == rank) return;
  throw invalid_argument(title(),
                         "sequences must have " + std::string(rank == 0 ? "at least 3" : std::to_string(rank)) +
                             (rank <= 3 ? " axes (batch, steps, features)" : " axes (batch, steps, ..., channels)"),
                         {{"sequences.shape", sequences}},
                         sequences.rank() == 2 ? "Add an Embedding before it, or an axis with Reshape." : "");
}

void RnnLayer::build(const Shape& sequences) {
  check_sequences(sequences);
  Shape step{sequences[0]};
  for (std::int64_t size : sequences.slice(2)) step.push_back(size);
  build_inside(*this, *cell_, step);
  if (!settings_.stateful) return;
  if (sequences[0] == kUnknown) {
    throw invalid_argument(title(), "a stateful layer needs a batch of known size", {{"sequences.shape", sequences}},
                           "Give Input a batch_size, or call it once on a batch.");
  }
  states_.clear();
  for (const Shape& shape : cell_->state_shapes()) {
    Shape whole{sequences[0]};
    for (std::int64_t size : shape) whole.push_back(size);
    states_.push_back(
        Variable(InitialValue::constant(0.0, whole, cell_->dtype()), {.name = "rnn_state",
                                                                      .trainable = false,
                                                                      .dtype = cell_->dtype(),
                                                                      .aggregation = Aggregation::OnlyFirstReplica,
                                                                      .path = name() + "/rnn_state"}));
  }
}

void RnnLayer::reset_state() {
  for (Variable& state : states_) state.assign(ops::zeros(state.shape(), state.dtype()));
}

Tensors RnnLayer::checked_initial_state(const Tensors& given, const Tensor& sequences) const {
  const std::vector<Shape> shapes = cell_->state_shapes();
  if (given.size() != shapes.size()) {
    throw invalid_argument(title(), "initial_state must have a tensor for each state of the cell",
                           {{"len(initial_state)", given.size()}, {"states", shapes.size()}});
  }
  Tensors states;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Shape expected{sequences.shape()[0]};
    for (std::int64_t size : shapes[i]) expected.push_back(size);
    if (!given[i].shape().compatible(expected)) {
      throw invalid_argument(title(), "a state must have the shape " + expected.to_string(),
                             {{"initial_state[" + std::to_string(i) + "].shape", given[i].shape()}});
    }
    states.push_back(ops::cast(given[i], cell_->compute_dtype()));
  }
  return states;
}

Element RnnLayer::call_element(const Element& inputs, const CallContext& context) {
  RnnInputs given = rnn_inputs(inputs, context.mask);
  if (!given.sequences.defined()) throw invalid_argument(title(), "sequences are expected");
  check_sequences(given.sequences.shape());
  const std::int64_t batch = given.sequences.shape()[0];
  if (settings_.stateful && batch != kUnknown && batch != states_[0].shape()[0]) {
    throw invalid_argument(title(), "a stateful layer is always called with batches of the same size",
                           {{"batch", batch}, {"expected", states_[0].shape()[0]}},
                           "Drop the remainder: dataset.batch(n, {.drop_remainder = true}).");
  }
  if (given.mask.defined()) {
    given.mask = ops::cast(given.mask, DType::Bool);
    if (given.mask.rank() == 3 && given.mask.shape()[2] == 1) given.mask = ops::squeeze(given.mask, {2});
    if (given.mask.rank() != 2) {
      throw invalid_argument(title(), "a mask must have 2 axes (batch, steps)", {{"mask.shape", given.mask.shape()}});
    }
  }
  Tensors initial;
  if (!given.initial_state.empty()) {
    initial = checked_initial_state(given.initial_state, given.sequences);
  } else if (settings_.stateful) {
    // An unknown batch stays unknown.
    const Tensors zeros = batch == kUnknown ? cell_->initial_state(given.sequences) : Tensors();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const Tensor state = ops::cast(states_[i], cell_->compute_dtype());
      initial.push_back(zeros.empty() ? state : ops::reshape_like(state, zeros[i]));
    }
  } else {
    initial = cell_->initial_state(given.sequences);
  }

  LayerCallScope scope(*cell_, context.training);
  std::optional<Rolled> rolled = run_fused(given.sequences, initial, given.mask, context);
  if (!rolled) rolled = run_steps(given.sequences, initial, given.mask, context);
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].assign(ops::cast(rolled->states[i], states_[i].dtype()));
  if (!settings_.return_state) return rolled->output;
  std::vector<Element> outputs = {rolled->output};
  outputs.insert(outputs.end(), rolled->states.begin(), rolled->states.end());
  return Element::tuple(std::move(outputs));
}

std::optional<RnnLayer::Rolled> RnnLayer::run_fused(const Tensor&, const Tensors&, const Tensor&, const CallContext&) {
  return std::nullopt;
}

RnnLayer::Rolled RnnLayer::run_steps(const Tensor& sequences, const Tensors& initial, const Tensor& mask,
                                     const CallContext& context) {
  const std::int64_t steps = sequences.shape()[1];
  if (settings_.unroll && steps == kUnknown) {
    throw invalid_argument(title(), "an unrolled layer needs a known number of steps",
                           {{"sequences.shape", sequences.shape()}}, "Give Input the number of steps.");
  }
  const RnnCell::Step step = cell_->prepare(ops::take_at(sequences, 0, 1), context);
  Tensors slices = {ops::swapaxes(sequences, 0, 1)};
  if (mask.defined()) slices.push_back(ops::swapaxes(mask, 0, 1));
  if (settings_.go_backwards) {
    for (Tensor& each : slices) each = ops::flip(each, {0});
  }

  // Without a mask nobody needs the output before; with return_sequences nobody needs the last one by itself.
  const bool carries_output = mask.defined() || !settings_.return_sequences;
  Tensors carries = initial;
  if (carries_output) carries.push_back(batch_zeros(sequences, cell_->output_shape(), cell_->compute_dtype()));
  const auto turn = [&](const Tensors& before, const Tensors& now) {
    const Tensors states(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(initial.size()));
    StepResult result = step(now[0], states);
    if (mask.defined()) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        result.states[i] = ops::where(mask_beside(now[1], states[i]), result.states[i], states[i]);
      }
      const Tensor otherwise = settings_.zero_output_for_mask ? ops::zeros_like(result.output) : before.back();
      result.output = ops::where(mask_beside(now[1], result.output), result.output, otherwise);
    }
    Tensors after = result.states;
    if (carries_output) after.push_back(result.output);
    if (settings_.return_sequences) after.push_back(result.output);
    return after;
  };

  ops::ScanResult result;
  if (settings_.unroll) {
    result.carries = carries;
    Tensors outputs;
    for (std::int64_t t = 0; t < steps; ++t) {
      Tensors now;
      for (const Tensor& each : slices) now.push_back(ops::take_at(each, t, 0));
      result.carries = turn(result.carries, now);
      if (!settings_.return_sequences) continue;
      outputs.push_back(result.carries.back());
      result.carries.pop_back();
    }
    if (settings_.return_sequences) result.sequences = {ops::stack(outputs, 0)};
  } else {
    result = ops::scan(turn, carries, slices);
  }
  Rolled rolled;
  rolled.output = settings_.return_sequences ? ops::swapaxes(result.sequences[0], 0, 1) : result.carries.back();
  rolled.states.assign(result.carries.begin(), result.carries.begin() + static_cast<std::ptrdiff_t>(initial.size()));
  return rolled;
}

Element RnnLayer::compute_mask(const Element& inputs, const Element& mask) {
  return settings_.return_sequences ? Element(rnn_inputs(inputs, mask).mask) : Element();
}

std::shared_ptr<RnnLayer> RnnLayer::from_name(std::string_view name) {
  auto layer = std::dynamic_pointer_cast<RnnLayer>(Layer::from_name(name));
  if (!layer) throw invalid_argument("Bidirectional", "a recurrent layer is expected", {{"layer", name}});
  return layer;
}

}  // namespace cohort::layers
