#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct SoftmaxOptions {
  // Axis the probabilities sum to 1 along; several: over these axes together.
  std::vector<std::int64_t> axis = {-1};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(SoftmaxOptions, axis)

class SoftmaxLayer : public Layer {
 public:
  explicit SoftmaxLayer(SoftmaxOptions options = {});
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  SoftmaxOptions options_;
};

// Exponentials divided by their sum, a probability distribution along the axis. Positions that a mask, of a shape that
// broadcasts to the input, leaves out get probability 0.
// Input any shape, output the same shape.
struct Softmax : LayerHandle<SoftmaxLayer> {
  explicit Softmax(SoftmaxOptions options = {});
};

}  // namespace cohort::layers
