#include "cohort/model/layer/layer.h"

#include <algorithm>
#include <unordered_set>

#include "cohort/autodiff/remat.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/masks.h"
#include "cohort/core/text.h"
#include "cohort/graph/trace.h"
#include "cohort/model/layer/layer_arguments.h"
#include "cohort/model/layer/layer_call_scope.h"
#include "cohort/model/layer/layer_masks.h"
#include "cohort/model/layer/remat_scope.h"
#include "cohort/model/layer/untracked.h"
#include "cohort/variables/autocast.h"

namespace cohort {
namespace {

// Building is rare and may reach into other layers: one lock for all of it.
std::recursive_mutex& build_mutex() {
  static std::recursive_mutex* mutex = new std::recursive_mutex;
  return *mutex;
}

using RematerializingScope = ThreadScope<struct RematerializingTag, bool>;
// The error that already carries a layer's name, so that the layers around it leave it alone.
thread_local std::string named_error;

// Whether a layer is one of those the mode means; its size is that of an earlier call.
bool rematerializes(const Layer& layer, const RematMode& mode) {
  if (mode.mode == "full") return true;
  if (mode.mode == "list_of_layers") {
    return std::find(mode.layer_names.begin(), mode.layer_names.end(), layer.name()) != mode.layer_names.end();
  }
  for (Shape shape : layer.output_shapes()) {
    if (shape.rank() > 0) shape[0] = 1;
    if (shape.num_elements() > mode.output_size_threshold) return true;
  }
  return false;
}

}  // namespace

LayerCallScope::LayerCallScope(Layer& layer, bool training, std::optional<bool> said)
    : name_(layer.name()),
      call_({&layer, training,
             said.value_or(!Calls::innermost() || Calls::current().training != training ||
                           Calls::current().training_said)}) {
  if (!call_.outer()) layer.clear_losses();
}
bool LayerCallScope::training() { return Calls::current().training; }
bool LayerCallScope::training_said() { return Calls::current().training_said; }
Layer* LayerCallScope::layer() { return Calls::current().layer; }

void LayerCallScope::check_tracked() {
  Layer& layer = *call_.value().layer;
  if (layer.tracked_ || !call_.outer() || layer.weights().empty()) return;
  if (!layer.tracked_.exchange(true)) warn_of_untracked_layer(layer, *call_.outer()->value().layer);
}

Layer::Layer() : remat_(RematScope::current()) {}
Layer::~Layer() = default;

void Layer::build_many(const std::vector<Shape>& inputs) {
  if (!inputs.empty()) build(inputs[0]);
}

void Layer::build_element(const ShapeTree& inputs) { build_many(inputs.flatten()); }

Tensor Layer::call(const Tensor&, const CallContext&) {
  throw unimplemented(title(), "a layer must override call (call_many for several inputs)");
}

Tensor Layer::call_many(const Tensors& inputs, const CallContext& context) {
  if (inputs.size() != 1) {
    throw invalid_argument(title(), "the layer takes one input", {{"inputs", inputs.size()}});
  }
  return call(inputs[0], context);
}

Element Layer::call_element(const Element& inputs, const CallContext& context) {
  return inputs.is_leaf() ? call(inputs.leaf(), context) : call_many(inputs.flatten(), context);
}

Element Layer::compute_mask(const Element&, const Element& mask) { return supports_masking_ ? mask : Element(); }

void Layer::ensure_built(const std::vector<Shape>& inputs) {
  ensure_built_element(inputs.size() == 1 ? ShapeTree(inputs[0]) : ShapeTree::tuple({inputs.begin(), inputs.end()}));
}

void Layer::ensure_built_element(const ShapeTree& inputs) {
  if (built_) return;
  std::lock_guard lock(build_mutex());
  if (built_) return;
  EagerScope eager;
  const std::size_t weights = weights_.size(), sublayers = sublayers_.size(), metrics = metrics_.size();
  try {
    build_element(inputs);
  } catch (...) {
    // The next attempt makes them all again.
    const auto cut = [](auto& list, std::size_t size) {
      if (list.size() > size) list.erase(list.begin() + static_cast<std::ptrdiff_t>(size), list.end());
    };
    cut(weights_, weights);
    cut(own_weights_, weights);
    cut(sublayers_, sublayers);
    cut(metrics_, metrics);
    throw;
  }
  built_ = true;
}

// Computes in the layer's type whatever the type of its variables, and not in that of a layer around it.
Element Layer::call_in_policy(const Element& inputs, const CallContext& context) {
  const DType dtype = compute_dtype();
  const AutocastScope autocast(is_floating(dtype) ? std::optional(dtype) : std::nullopt);
  // What is inside a layer that is computed again is computed again anyhow.
  if (!remat_ || !context.training || RematerializingScope::current() || !rematerializes(*this, *remat_)) {
    return call_element(inputs, context);
  }

  // Penalties and masks that come up inside are results, too: outside, the tensors of the trace mean nothing.
  Element outputs;
  std::size_t losses = 0;
  std::vector<bool> masked;
  const Tensors results = rematerialized(
      [&](const Tensors& leaves) {
        const RematerializingScope scope(true);
        outputs = call_element(inputs.with_leaves(leaves), context);
        Tensors all = outputs.flatten();
        for (const Tensor& output : outputs.flatten()) {
          const Tensor mask = mask_of(output);
          masked.push_back(mask.defined());
          if (mask.defined()) all.push_back(mask);
        }
        Tensors penalties;
        collect_losses(penalties);
        clear_losses();
        losses = penalties.size();
        all.insert(all.end(), penalties.begin(), penalties.end());
        return all;
      },
      inputs.flatten());
  outputs = outputs.with_leaves(results);
  const Tensors tensors = outputs.flatten();
  std::size_t next = tensors.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (masked[i]) set_mask(tensors[i], results[next++]);
  }
  for (; losses > 0; --losses) add_loss(results[next++]);
  return outputs;
}

Element Layer::apply(const Element& given, const CallContext& given_context) {
  LayerCallScope scope(*this, given_context.training, given_context.training_said);
  std::optional<VariableCreatorScope> variables;
  if (VariableCreator* creator = variable_creator()) variables.emplace(creator);
  try {
    Element inputs = given;
    CallContext context = given_context;
    settle_arguments(*this, inputs, context);
    Tensors leaves = inputs.flatten();
    const bool casts = casts_inputs() && is_floating(compute_dtype());
    for (Tensor& leaf : leaves) {
      if (!leaf.defined()) throw invalid_argument(title(), "a tensor with a value is expected as input");
      // Floats arrive in the layer's own type; integers are left to the layer.
      if (casts && is_floating(leaf.dtype()) && leaf.dtype() != compute_dtype()) {
        const Tensor mask = mask_of(leaf);
        leaf = run_op("Cast", {leaf}, {{"dtype", compute_dtype()}});
        if (mask.defined()) set_mask(leaf, mask);
      }
    }
    inputs = inputs.with_leaves(leaves);
    ensure_built_element(inputs.map([](const Tensor& leaf) { return leaf.shape(); }));
    scope.check_tracked();
    const bool carried = given_context.mask.empty() && (given.kind() != Element::Kind::Dict || !given.find("mask"));
    const Element masks = input_masks(*this, inputs, context.mask);
    context.mask = carried ? call_masks(*this, inputs, masks) : masks;
    Element outputs = call_in_policy(inputs, context);
    mask_outputs(*this, inputs, masks, outputs);
    if (activity_regularizer_) {
      for (const Tensor& output : outputs.flatten()) {
        Tensor loss = (*activity_regularizer_)(output);
        if (output.rank() > 0) {
          const Tensor batch =
              run_op("SizeOf", {output}, {{"axes", std::vector<std::int64_t>{0}}, {"dtype", loss.dtype()}});
          loss = run_op("Divide", {loss, batch});
        }
        add_loss(loss);
      }
    }
    note_outputs(outputs);
    return outputs;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (text == named_error) throw;
    named_error = text.find(in_quotes(name())) != std::string_view::npos ||
                          text.find(NameScope::current()) != std::string_view::npos
                      ? std::string(text)
                      : title() + ": " + std::string(text);
    throw Error(error.code(), named_error);
  }
}

namespace {

CallContext context_of(const CallOptions& options) {
  CallContext context{options.training.value_or(LayerCallScope::training()), options.mask, options.arguments};
  if (!options.training && !LayerCallScope::layer()) context.training_said = false;
  return context;
}

}  // namespace

Tensor Layer::operator()(const Tensor& input, const CallOptions& options) {
  const Element output = apply(input, context_of(options));
  if (!output.is_leaf()) {
    throw failed_precondition(title(), "a layer of several outputs is called with apply()");
  }
  return output.leaf();
}

Tensor Layer::operator()(const Tensors& inputs, const CallOptions& options) {
  const Element output = apply(Element::tuple({inputs.begin(), inputs.end()}), context_of(options));
  if (!output.is_leaf()) {
    throw failed_precondition(title(), "a layer of several outputs is called with apply()");
  }
  return output.leaf();
}

void Layer::note_outputs(const Element& outputs) {
  std::vector<Shape> shapes;
  for (const Tensor& output : outputs.flatten()) {
    Shape shape = output.shape();
    if (shape.rank() > 0) shape[0] = kUnknown;
    shapes.push_back(shape);
  }
  std::lock_guard lock(mutex_);
  output_shapes_ = std::move(shapes);
}

std::vector<Shape> Layer::output_shapes() const {
  std::lock_guard lock(mutex_);
  return output_shapes_;
}

void Layer::add_loss(const Tensor& loss) {
  std::lock_guard lock(mutex_);
  call_losses_.push_back(loss);
}

void Layer::clear_losses() {
  {
    std::lock_guard lock(mutex_);
    call_losses_.clear();
  }
  for (const auto& [name, layer] : sublayers_) layer->clear_losses();
}

void Layer::collect_losses(Tensors& losses) const {
  {
    std::lock_guard lock(mutex_);
    losses.insert(losses.end(), call_losses_.begin(), call_losses_.end());
  }
  for (const auto& [name, layer] : sublayers_) layer->collect_losses(losses);
}

Tensors Layer::losses() const {
  Tensors losses;
  collect_losses(losses);
  std::vector<const Weight*> weights;
  collect_weights(weights);
  for (const Weight* weight : weights) {
    if (weight->regularizer && weight->variable.trainable()) {
      losses.push_back((*weight->regularizer)(weight->variable.value()));
    }
  }
  return losses;
}

std::vector<Ref<Metric>> Layer::metrics() const {
  std::vector<Ref<Metric>> all = metrics_;
  for (const auto& [name, layer] : sublayers_) {
    for (Ref<Metric>& metric : layer->metrics()) all.push_back(std::move(metric));
  }
  return all;
}

void Layer::track_layer(const std::string& name, Ref<Layer> layer) {
  if (!layer) throw invalid_argument(class_name(), "a sub-layer must be given", {{"name", name}});
  layer->tracked_ = true;
  sublayers_.emplace_back(name, std::move(layer));
}
void Layer::untrack_last_layer() { sublayers_.pop_back(); }
void Layer::track_metric(Ref<Metric> metric) { metrics_.push_back(std::move(metric)); }

}  // namespace cohort
