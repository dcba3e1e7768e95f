#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class ReshapeLayer : public Layer {
 public:
  ReshapeLayer() : ReshapeLayer(std::vector<std::int64_t>{-1}) {}
  explicit ReshapeLayer(std::vector<std::int64_t> target_shape, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::vector<std::int64_t> target_shape_;
};

// Gives each sample's elements a new shape, in the same order.
// Input (batch, ...), output (batch, target_shape).
//   target_shape: sizes of the output's axes after the batch; one of them may be -1, which takes what is left.
struct Reshape : LayerHandle<ReshapeLayer> {
  explicit Reshape(std::vector<std::int64_t> target_shape, NameOption options = {});
};

}  // namespace cohort::layers
