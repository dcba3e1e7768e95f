#include "cohort/model/layer/layer_activation.h"

#include "cohort/core/text.h"

namespace cohort {

LayerActivation::LayerActivation(Ref<Layer> layer) : layer_(std::move(layer)) {
  if (!layer_) throw invalid_argument("LayerActivation", "a layer is expected", {{"layer", "None"}});
}

Tensor LayerActivation::operator()(const Tensor& x) const {
  Tensor result = (*layer_)(x);
  if (!layer_->weights().empty()) {
    throw unimplemented(titled("Activation", layer_->name()), "a layer without weights is expected as an activation",
                        {{"class", layer_->class_name()}}, "Put it behind the layer instead.");
  }
  return result;
}

Ref<Activation> layer_activation(Ref<Layer> layer) {
  return Ref<Activation>(std::make_shared<LayerActivation>(std::move(layer)));
}

bool register_layer_as_activation(const std::string& class_name) {
  Activation::registry().add(class_name,
                             [class_name] { return std::make_shared<LayerActivation>(Ref<Layer>(class_name)); });
  return true;
}

}  // namespace cohort
