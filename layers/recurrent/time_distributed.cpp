#include "cohort/layers/recurrent/time_distributed.h"

#include <algorithm>

#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/model/layer/layer_call_scope.h"
#include "cohort/ops/array.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {
namespace {

// Layers that keep statistics of batches (BatchNormalization) see one step at a time, as in Keras.
bool keeps_state(const Layer& layer) {
  const auto& own = layer.own_weights();
  return std::any_of(own.begin(), own.end(), [](const auto& weight) { return !weight.second.trainable(); }) ||
         std::any_of(layer.sublayers().begin(), layer.sublayers().end(),
                     [](const auto& each) { return keeps_state(*each.second); });
}

Shape step_shape(const Layer& layer, const Shape& input) {
  if (input.rank() < 3) {
    throw invalid_argument(layer.title(), "input must have at least 3 axes (batch, steps, ...)",
                           {{"input.shape", input}}, "Add an axis with Reshape.");
  }
  Shape step{input[0]};
  for (std::int64_t size : input.slice(2)) step.push_back(size);
  return step;
}

}  // namespace

TimeDistributedLayer::TimeDistributedLayer(Ref<Layer> layer, const NameOption& options) : TimeDistributedLayer() {
  layer_ = std::move(layer);
  take_options(options);
  TimeDistributedLayer::fields_changed();
}

void TimeDistributedLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("layer", layer_);
}

void TimeDistributedLayer::fields_changed() {
  if (!layer_) throw invalid_argument(class_name(), "a layer must be given", {{"layer", "none"}});
  if (!sublayers().empty()) untrack_last_layer();
  track_layer("layer", layer_);
}

void TimeDistributedLayer::build(const Shape& input) { build_inside(*this, *layer_, step_shape(*this, input)); }

Tensor TimeDistributedLayer::call_step(const Tensor& input, const Tensor& mask, bool training) {
  const Element output =
      layer_->call_element(input, {.training = training, .mask = mask.defined() ? Element(mask) : Element(Tensor())});
  if (!output.is_leaf()) {
    throw invalid_argument(title(), "the layer inside must have one output",
                           {{"layer", layer_->title()}, {"outputs", output.flatten().size()}});
  }
  return output.leaf();
}

Tensor TimeDistributedLayer::call(const Tensor& input, const CallContext& context) {
  step_shape(*this, input.shape());
  const Tensor mask = context.mask.is_leaf() ? context.mask.leaf() : Tensor();
  if (mask.defined()) {
    const auto differs = [&](int axis) {
      const std::int64_t size = mask.shape()[axis], expected = input.shape()[axis];
      return size != expected && size != kUnknown && expected != kUnknown;
    };
    if (mask.rank() < 2 || differs(0) || differs(1)) {
      throw invalid_argument(title(), "a mask must begin with the input's batch and steps",
                             {{"mask.shape", mask.shape()}, {"input.shape", input.shape()}});
    }
  }
  LayerCallScope scope(*layer_, context.training);
  const std::int64_t steps = input.shape()[1];
  if (context.training && steps != kUnknown && keeps_state(*layer_)) {
    Tensors outputs;
    for (std::int64_t t = 0; t < steps; ++t) {
      outputs.push_back(
          call_step(ops::take_at(input, t, 1), mask.defined() ? ops::take_at(mask, t, 1) : Tensor(), context.training));
    }
    return ops::stack(outputs, 1);
  }
  // Steps do not see one another: together with the batch they are one larger batch.
  const Tensor output = call_step(ops::merge_axes(input, 0, 2), mask.defined() ? ops::merge_axes(mask, 0, 2) : Tensor(),
                                  context.training);
  return ops::unmerge_axis(output, input, 0, 0, 2);
}

COHORT_REGISTER(Layer, TimeDistributedLayer, "TimeDistributed");

TimeDistributed::TimeDistributed(Ref<Layer> layer, NameOption options)
    : LayerHandle<TimeDistributedLayer>(std::make_shared<TimeDistributedLayer>(std::move(layer), options)) {}

}  // namespace cohort::layers
