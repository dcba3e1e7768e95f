#include "cohort/layers/recurrent/bidirectional.h"

#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/layers/recurrent/builtin_rnn.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"
#include "cohort/saving/config_json.h"

namespace cohort::layers {
namespace {

std::string prefixed(std::string_view prefix, std::string_view name) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(prefix) + std::string(name);
}

// A fresh layer with the same options.
Ref<RnnLayer> copied(RnnLayer& layer, const std::string& name) {
  const std::shared_ptr<Layer> made = Layer::from_name(layer.class_name());
  from_json(*made, config_to_json(layer));
  made->set_name(name);
  auto copy = std::dynamic_pointer_cast<RnnLayer>(made);
  if (auto* from = dynamic_cast<BuiltinRnn*>(&layer)) dynamic_cast<BuiltinRnn&>(*copy).set_use_cudnn(from->use_cudnn());
  return copy;
}

}  // namespace

BidirectionalLayer::BidirectionalLayer(const Ref<RnnLayer>& layer, const BidirectionalOptions& options)
    : BidirectionalLayer() {
  merge_mode_ = options.merge_mode;
  take_options(options);
  if (layer) set_layers(layer, options.backward_layer);
  BidirectionalLayer::fields_changed();
}

void BidirectionalLayer::set_layers(const Ref<RnnLayer>& pattern, Ref<RnnLayer> backward) {
  forward_ = copied(*pattern, prefixed("forward_", pattern->name()));
  if (!backward) {
    backward = copied(*pattern, prefixed("backward_", pattern->name()));
    backward->set_go_backwards(true);
  }
  backward_ = std::move(backward);
  for (const Ref<RnnLayer>& each : {forward_, backward_}) {
    each->set_zero_output_for_mask(each->settings().return_sequences);
  }
}

void BidirectionalLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("merge_mode", merge_mode_);
  Ref<RnnLayer> forward = forward_, backward = backward_;
  visitor.field("layer", forward);
  visitor.field("backward_layer", backward);
  if (visitor.reads_config() && forward) set_layers(forward, backward);
}

void BidirectionalLayer::fields_changed() {
  if (!forward_) throw invalid_argument(class_name(), "a recurrent layer must be given", {{"layer", "none"}});
  const std::initializer_list<const char*> modes = {"concat", "sum", "mul", "ave"};
  if (merge_mode_ && std::find(modes.begin(), modes.end(), *merge_mode_) == modes.end()) {
    throw invalid_argument(class_name(), "merge_mode must be 'concat', 'sum', 'mul', 'ave' or none",
                           {{"merge_mode", in_quotes(*merge_mode_)}});
  }
  const RnnSettings &forward = forward_->settings(), &backward = backward_->settings();
  if (forward.go_backwards == backward.go_backwards) {
    throw invalid_argument(
        class_name(), "one of the two layers must go backwards",
        {{"layer.go_backwards", forward.go_backwards}, {"backward_layer.go_backwards", backward.go_backwards}});
  }
  if (forward.stateful != backward.stateful || forward.return_sequences != backward.return_sequences ||
      forward.return_state != backward.return_state) {
    throw invalid_argument(class_name(), "both layers must agree in stateful, return_sequences and return_state",
                           {{"layer.stateful", forward.stateful},
                            {"backward_layer.stateful", backward.stateful},
                            {"layer.return_sequences", forward.return_sequences},
                            {"backward_layer.return_sequences", backward.return_sequences},
                            {"layer.return_state", forward.return_state},
                            {"backward_layer.return_state", backward.return_state}});
  }
  while (!sublayers().empty()) untrack_last_layer();
  track_layer("forward_layer", forward_);
  track_layer("backward_layer", backward_);
}

void BidirectionalLayer::build(const Shape& sequences) {
  build_inside(*this, *forward_, sequences);
  build_inside(*this, *backward_, sequences);
}

void BidirectionalLayer::reset_state() {
  if (!forward_->settings().stateful) {
    throw failed_precondition(title(), "only stateful layers have a state to reset");
  }
  forward_->reset_state();
  backward_->reset_state();
}

Tensor BidirectionalLayer::merge(const Tensor& forward, const Tensor& backward) const {
  if (*merge_mode_ == "concat") return ops::concatenate({forward, backward}, -1);
  if (*merge_mode_ == "sum") return forward + backward;
  if (*merge_mode_ == "mul") return forward * backward;
  return (forward + backward) / 2.0;
}

Element BidirectionalLayer::call_element(const Element& inputs, const CallContext& context) {
  const RnnInputs given = rnn_inputs(inputs, context.mask);
  if (!given.sequences.defined()) throw invalid_argument(title(), "sequences are expected");
  const std::size_t half = given.initial_state.size() / 2;
  if (given.initial_state.size() % 2 != 0) {
    throw invalid_argument(title(), "initial_state must have the forward layer's states, then the backward one's",
                           {{"len(initial_state)", given.initial_state.size()}});
  }
  const auto run = [&](RnnLayer& layer, std::size_t first) {
    const auto begin = given.initial_state.begin() + static_cast<std::ptrdiff_t>(first);
    const Element arguments =
        rnn_arguments<Tensor>(given.sequences, {begin, begin + static_cast<std::ptrdiff_t>(half)});
    Tensors masks(arguments.flatten().size());
    masks[0] = given.mask;
    return layer.apply(arguments, {.training = context.training, .mask = arguments.with_leaves(masks)}).flatten();
  };
  const Tensors forward = run(*forward_, 0);
  Tensors backward = run(*backward_, half);
  if (forward_->settings().return_sequences) backward[0] = ops::flip(backward[0], {1});

  std::vector<Element> outputs;
  if (merge_mode_) {
    outputs = {merge(forward[0], backward[0])};
  } else {
    outputs = {forward[0], backward[0]};
  }
  outputs.insert(outputs.end(), forward.begin() + 1, forward.end());
  outputs.insert(outputs.end(), backward.begin() + 1, backward.end());
  return outputs.size() == 1 ? outputs[0] : Element::tuple(std::move(outputs));
}

Element BidirectionalLayer::compute_mask(const Element& inputs, const Element& mask) {
  if (!forward_->settings().return_sequences) return {};
  const Tensor own = rnn_inputs(inputs, mask).mask;
  return merge_mode_ ? Element(own) : Element::tuple({own, own});
}

COHORT_REGISTER(Layer, BidirectionalLayer, "Bidirectional");

Bidirectional::Bidirectional(const Ref<RnnLayer>& layer, BidirectionalOptions options)
    : RnnHandle<BidirectionalLayer>(std::make_shared<BidirectionalLayer>(layer, options)) {}

}  // namespace cohort::layers
