#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// Orders the axes after the batch anew: axis i of the output is axis dims[i] of the input, counted from 1.
class PermuteLayer : public Layer {
 public:
  PermuteLayer() : PermuteLayer(std::vector<std::int64_t>{1}) {}
  explicit PermuteLayer(std::vector<std::int64_t> dims, NameOption options = {});
  std::string class_name() const override { return "Permute"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::vector<std::int64_t> dims_;
};

struct Permute : LayerHandle<PermuteLayer> {
  explicit Permute(std::vector<std::int64_t> dims, NameOption options = {})
      : LayerHandle<PermuteLayer>(std::make_shared<PermuteLayer>(std::move(dims), std::move(options))) {}
};

}  // namespace cohort::layers
