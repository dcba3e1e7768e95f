#pragma once

#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort {

// A layer in the place of an activation function: Dense(4, {.activation = layer_activation(LeakyReLU())}). It is saved
// as the layer it is, and may have no weights.
class LayerActivation : public Activation {
 public:
  explicit LayerActivation(Ref<Layer> layer);
  std::string class_name() const override { return layer_->class_name(); }
  std::string module_name() const override { return layer_->module_name(); }
  std::string short_name() const override { return {}; }
  void visit_fields(FieldVisitor& visitor) override { layer_->visit_fields(visitor); }
  void fields_changed() override { layer_->fields_changed(); }
  std::vector<std::string> ignored_fields() const override { return layer_->ignored_fields(); }
  bool writes_dtype_policy() const override { return layer_->writes_dtype_policy(); }
  Tensor operator()(const Tensor& x) const override;

 private:
  Ref<Layer> layer_;
};

// The layer as an activation.
Ref<Activation> layer_activation(Ref<Layer> layer);
// Lets configs name a class of layers where they name an activation.
bool register_layer_as_activation(const std::string& class_name);

}  // namespace cohort
