#include "cohort/layers/merging/average.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor AverageLayer::merge(const Tensors& inputs, const Tensors&) const {
  Tensor sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = sum + inputs[i];
  return sum / static_cast<double>(inputs.size());
}

COHORT_REGISTER(Layer, AverageLayer, "Average");

Average::Average(NameOption options) : LayerHandle<AverageLayer>(std::make_shared<AverageLayer>(std::move(options))) {}

}  // namespace cohort::layers
