#pragma once

#include <optional>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ReLUOptions {
  std::optional<double> max_value = std::nullopt;
  double negative_slope = 0.0;
  double threshold = 0.0;
  DTypePolicy dtype = {};
  std::string name = {};
};

// max(x, 0), with a slope below `threshold` and an upper bound when asked.
class ReLULayer : public Layer {
 public:
  explicit ReLULayer(ReLUOptions options = {});
  std::string class_name() const override { return "ReLU"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  ReLUOptions options_;
};

struct ReLU : LayerHandle<ReLULayer> {
  explicit ReLU(ReLUOptions options = {}) : LayerHandle<ReLULayer>(std::make_shared<ReLULayer>(std::move(options))) {}
};

}  // namespace cohort::layers
