#include "cohort/layers/merging/add.h"

#include <algorithm>

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

AddLayer::AddLayer(NameOption options) {
  supports_masking_ = true;
  take_options(options);
}

Tensor AddLayer::call_many(const Tensors& inputs, const CallContext&) {
  if (inputs.empty()) throw invalid_argument(title(*this), "at least one input is expected", {{"inputs", 0}});
  int rank = 0;
  for (const Tensor& input : inputs) rank = std::max(rank, input.rank());
  Tensor sum;
  for (Tensor input : inputs) {
    while (input.rank() < rank) input = ops::expand_dims(input, 1);
    sum = sum.defined() ? sum + input : input;
  }
  return sum;
}

Element AddLayer::compute_mask(const Element&, const Element& mask) {
  Tensor any;
  for (const Tensor& each : mask.flatten()) {
    if (!each.defined()) return {};
    any = any.defined() ? ops::logical_or(any, each) : each;
  }
  return any;
}

namespace {

[[maybe_unused]] const bool registered = Layer::registry().add("Add", [] { return std::make_shared<AddLayer>(); });

}  // namespace
}  // namespace cohort::layers
