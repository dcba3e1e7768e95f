#include "cohort/layers/recurrent/rnn_cell.h"

#include <optional>

#include "cohort/graph/trace.h"
#include "cohort/model/layer/layer_call_scope.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

StepResult RnnCell::step(const Tensor&, const Tensors&, const CallContext&) {
  throw unimplemented(title(), "a cell must override step (or prepare)");
}

RnnCell::Step RnnCell::prepare(const Tensor&, const CallContext& context) {
  return [this, context](const Tensor& input, const Tensors& states) { return step(input, states, context); };
}

Tensors RnnCell::initial_state(const Tensor& like) const {
  Tensors states;
  for (const Shape& shape : state_shapes()) states.push_back(batch_zeros(like, shape, compute_dtype()));
  return states;
}

Element RnnCell::call_element(const Element& inputs, const CallContext& context) {
  Tensors all = inputs.flatten();
  const std::size_t expected = state_shapes().size();
  if (all.size() != expected + 1) {
    throw invalid_argument(title(), "a cell takes an input and its states",
                           {{"states", all.empty() ? 0 : all.size() - 1}, {"expected", expected}});
  }
  const Tensor input = all.front();
  all.erase(all.begin());
  const StepResult result = prepare(input, context)(input, all);
  std::vector<Element> outputs = {Element(result.output)};
  outputs.insert(outputs.end(), result.states.begin(), result.states.end());
  return Element::tuple(std::move(outputs));
}

std::shared_ptr<RnnCell> RnnCell::from_name(std::string_view name) {
  auto cell = std::dynamic_pointer_cast<RnnCell>(Layer::from_name(name));
  if (!cell) throw invalid_argument("RNN", "a cell is expected, a class derived from RnnCell", {{"cell", name}});
  return cell;
}

StepResult call_cell(RnnCell& cell, const Tensor& input, const Tensors& states, const CallOptions& options) {
  const Element arguments =
      Element::dict({{"inputs", input}, {"states", Element::tuple({states.begin(), states.end()})}});
  const Tensors outputs =
      cell.apply(arguments, {options.training.value_or(LayerCallScope::training()), {}, options.arguments}).flatten();
  return {outputs[0], {outputs.begin() + 1, outputs.end()}};
}

Tensor batch_zeros(const Tensor& like, const Shape& shape, DType dtype) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(like.rank()), 0), first(begin.size(), 1);
  first[0] = -1;
  std::vector<std::int64_t> column = {-2}, sizes = {-1};
  for (std::int64_t size : shape) {
    column.push_back(1);
    sizes.push_back(size);
  }
  const Tensor zeros = ops::zeros_like(ops::reshape(ops::slice(like, begin, first), column));
  return ops::broadcast_to(ops::cast(zeros, dtype), sizes);
}

void build_inside(const Layer& outer, Layer& inner, const Shape& input) {
  std::optional<NameScope> own;
  if (NameScope::current().empty()) own.emplace(outer.name());
  NameScope scope(inner.name());
  inner.ensure_built({input});
}

}  // namespace cohort::layers
