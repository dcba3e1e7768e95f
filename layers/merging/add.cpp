#include "cohort/layers/merging/add.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor AddLayer::merge(const Tensors& inputs, const Tensors&) const {
  Tensor sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = sum + inputs[i];
  return sum;
}

COHORT_REGISTER(Layer, AddLayer, "Add");

Add::Add(NameOption options) : LayerHandle<AddLayer>(std::make_shared<AddLayer>(std::move(options))) {}

}  // namespace cohort::layers
