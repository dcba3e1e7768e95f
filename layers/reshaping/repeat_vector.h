#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class RepeatVectorLayer : public Layer {
 public:
  RepeatVectorLayer() : RepeatVectorLayer(1) {}
  explicit RepeatVectorLayer(std::int64_t n, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::int64_t n_;
};

// Repeats each vector n times along a new axis.
// Input (batch, features), output (batch, n, features).
//   n: number of repetitions.
struct RepeatVector : LayerHandle<RepeatVectorLayer> {
  explicit RepeatVector(std::int64_t n, NameOption options = {});
};

}  // namespace cohort::layers
