#include "cohort/layers/regularization/activity_regularization.h"

#include "cohort/model/regularizers/l1_l2.h"

namespace cohort::layers {

ActivityRegularizationLayer::ActivityRegularizationLayer(ActivityRegularizationOptions options)
    : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  ActivityRegularizationLayer::fields_changed();
}

void ActivityRegularizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void ActivityRegularizationLayer::fields_changed() {
  activity_regularizer_ = regularizers::L1L2({.l1 = options_.l1, .l2 = options_.l2});
}

Tensor ActivityRegularizationLayer::call(const Tensor& input, const CallContext&) { return input; }

COHORT_REGISTER(Layer, ActivityRegularizationLayer, "ActivityRegularization");

ActivityRegularization::ActivityRegularization(ActivityRegularizationOptions options)
    : LayerHandle<ActivityRegularizationLayer>(std::make_shared<ActivityRegularizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
