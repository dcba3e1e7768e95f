#pragma once

#include <optional>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ReLUOptions {
  std::optional<double> max_value = std::nullopt;  // Upper bound of the output, not negative; empty: none.
  double negative_slope = 0.0;                     // Slope at and below the threshold, not negative.
  double threshold = 0.0;                          // Inputs above it are passed through; not negative.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ReLUOptions, max_value, negative_slope, threshold)

class ReLULayer : public Layer {
 public:
  explicit ReLULayer(ReLUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  ReLUOptions options_;
};

// The rectified linear unit: max_value where x >= max_value, x where it is above threshold, elsewhere
// negative_slope * (x - threshold). By default max(x, 0).
// Input any shape, output the same shape.
struct ReLU : LayerHandle<ReLULayer> {
  explicit ReLU(ReLUOptions options = {});
};

}  // namespace cohort::layers
