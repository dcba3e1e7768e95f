#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class PermuteLayer : public Layer {
 public:
  PermuteLayer() : PermuteLayer(std::vector<std::int64_t>{1}) {}
  explicit PermuteLayer(std::vector<std::int64_t> dims, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::vector<std::int64_t> dims_;
};

// Transposes the axes after the batch: axis i of the output is axis dims[i - 1] of the input.
// Input (batch, ...) with an axis for each of dims, output (batch, ...) with these axes in the new order.
//   dims: the numbers 1, 2, ... in the new order, one for each axis after the batch; {2, 1} swaps two axes.
struct Permute : LayerHandle<PermuteLayer> {
  explicit Permute(std::vector<std::int64_t> dims, NameOption options = {});
};

}  // namespace cohort::layers
