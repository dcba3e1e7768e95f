#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// One number for all elements, or a list of one for each index of the last axis.
struct RescalingFactors {
  RescalingFactors(double number) : numbers{number} {}
  RescalingFactors(std::initializer_list<double> list) : numbers(list), listed(true) {}
  bool are(double number) const { return !listed && numbers[0] == number; }

  std::vector<double> numbers;
  bool listed = false;
};

}  // namespace cohort::layers

template <>
struct cohort::FieldCodec<cohort::layers::RescalingFactors> {
  static ConfigValue to(const layers::RescalingFactors& factors);
  static layers::RescalingFactors from(const GivenField& given);
};

namespace cohort::layers {

struct RescalingOptions {
  // Number added after scaling, or a list of one for each index of the last axis.
  RescalingFactors offset = 0.0;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(RescalingOptions, offset)

class RescalingLayer : public Layer {
 public:
  RescalingLayer() : RescalingLayer(1.0) {}
  explicit RescalingLayer(RescalingFactors scale, RescalingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  RescalingFactors scale_;
  RescalingOptions options_;
};

// Computes input * scale + offset, in floating point.
// Input any shape, output of the same shape.
//   scale: number that multiplies the input, or a list of one for each index of the last axis.
struct Rescaling : LayerHandle<RescalingLayer> {
  explicit Rescaling(RescalingFactors scale, RescalingOptions options = {});
};

}  // namespace cohort::layers
