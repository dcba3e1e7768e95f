#pragma once

#include <string>
#include <vector>

#include "cohort/layers/name_option.h"
#include "cohort/model/layer.h"

namespace cohort::layers {

// The sum of its inputs, which broadcast; inputs with fewer axes get new ones after the batch.
class AddLayer : public Layer {
 public:
  explicit AddLayer(NameOption options = {});
  std::string class_name() const override { return "Add"; }
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;
  // What any input counts, when all have a mask.
  Element compute_mask(const Element& inputs, const Element& mask) override;
};

struct Add : LayerHandle<AddLayer> {
  explicit Add(NameOption options = {}) : LayerHandle<AddLayer>(std::make_shared<AddLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
