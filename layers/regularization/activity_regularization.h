#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ActivityRegularizationOptions {
  double l1 = 0.0;  // Factor of the sum of absolute values.
  double l2 = 0.0;  // Factor of the sum of squares.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ActivityRegularizationOptions, l1, l2)

class ActivityRegularizationLayer : public Layer {
 public:
  explicit ActivityRegularizationLayer(ActivityRegularizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  ActivityRegularizationOptions options_;
};

// Returns its input and adds (l1 * sum|x| + l2 * sum x^2) / batch size to the loss.
// Input any shape, output the same shape.
struct ActivityRegularization : LayerHandle<ActivityRegularizationLayer> {
  explicit ActivityRegularization(ActivityRegularizationOptions options = {});
};

}  // namespace cohort::layers
