#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct FlattenOptions {
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

// (batch, ...) to (batch, features).
class FlattenLayer : public Layer {
 public:
  explicit FlattenLayer(FlattenOptions options = {});
  std::string class_name() const override { return "Flatten"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  FlattenOptions options_;
};

struct Flatten : LayerHandle<FlattenLayer> {
  explicit Flatten(FlattenOptions options = {})
      : LayerHandle<FlattenLayer>(std::make_shared<FlattenLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
