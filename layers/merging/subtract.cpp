#include "cohort/layers/merging/subtract.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

void SubtractLayer::build_many(const std::vector<Shape>& inputs) {
  if (inputs.size() != 2) {
    throw invalid_argument(title(), "exactly two inputs are expected", {{"inputs", inputs.size()}});
  }
  MergeLayer::build_many(inputs);
}

Tensor SubtractLayer::merge(const Tensors& inputs, const Tensors&) const {
  if (inputs.size() != 2) {
    throw invalid_argument(title(), "exactly two inputs are expected", {{"inputs", inputs.size()}});
  }
  return inputs[0] - inputs[1];
}

COHORT_REGISTER(Layer, SubtractLayer, "Subtract");

Subtract::Subtract(NameOption options)
    : LayerHandle<SubtractLayer>(std::make_shared<SubtractLayer>(std::move(options))) {}

}  // namespace cohort::layers
