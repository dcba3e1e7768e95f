#include "cohort/model/model.h"

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/data/unpack_data.h"
#include "cohort/graph/trace.h"
#include "cohort/model/compiled_loss.h"
#include "cohort/model/compiled_metrics.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/functional.h"
#include "cohort/model/symbols/operation.h"
#include "cohort/ops/math.h"
#include "cohort/variables/replica_context.h"

namespace cohort {
namespace {

// The number of rows of a batch, as a float scalar.
Tensor batch_size_of(const Tensor& batch) {
  if (batch.rank() == 0) return Tensor::scalar(1.0);
  return run_op("SizeOf", {batch}, {{"axes", std::vector<std::int64_t>{0}}, {"dtype", DType::Float32}});
}

}  // namespace

Model::Model(ModelOptions options) : training_(std::make_unique<Training>(*this)) {
  set_remat(nullptr);  // its layers are: all of a model computed again would save nothing
  if (!options.name.empty()) set_name(std::move(options.name));
}

Model::Model(Symbols inputs, Symbols outputs, ModelOptions options) : Model(std::move(options)) {
  functional_ = std::make_unique<FunctionalGraph>(std::move(inputs), std::move(outputs), "Model");
  for (const Ref<Layer>& layer : functional_->layers()) track_layer(layer->name(), layer);
  mark_built();
}

Model::~Model() = default;

const std::shared_ptr<Strategy>& Model::strategy() const { return training_->strategy(); }
VariableCreator* Model::variable_creator() const { return strategy()->variable_creator(); }

std::string Model::class_name() const {
  if (typeid(*this) != typeid(Model)) return Layer::class_name();
  return functional_ ? "Functional" : "Model";
}
std::string Model::module_name() const {
  if (typeid(*this) != typeid(Model)) return Layer::module_name();
  return functional_ ? "keras.src.models.functional" : "keras";
}

Element Model::call_element(const Element& inputs, const CallContext& context) {
  return functional_ ? functional_->run(inputs, context) : Layer::call_element(inputs, context);
}

std::vector<Ref<Layer>> Model::layers() const {
  std::vector<Ref<Layer>> layers;
  if (functional_) {  // Keras's layers are without operations
    for (const Ref<Layer>& layer : functional_->layers()) {
      if (!layer.as<Operation>()) layers.push_back(layer);
    }
    return layers;
  }
  for (const auto& [name, layer] : sublayers()) layers.push_back(layer);
  return layers;
}

namespace {

const FunctionalGraph& graph_of(const Model& model) {
  if (const FunctionalGraph* graph = model.functional()) return *graph;
  throw failed_precondition(model.title(), "only a model made from symbols has symbols to lead from and to");
}

}  // namespace

Symbols Model::inputs() const { return graph_of(*this).inputs(); }
Symbols Model::outputs() const { return graph_of(*this).outputs(); }

std::vector<std::string> Model::output_names() const {
  return functional_ ? functional_->output_names() : std::vector<std::string>();
}

Ref<Layer> Model::get_layer(std::string_view name) const {
  const std::vector<Ref<Layer>> all = layers();
  for (const Ref<Layer>& layer : all) {
    if (layer->name() == name) return layer;
  }
  throw not_found("Model.get_layer", "the name of a layer is expected", {{"name", in_quotes(name)}},
                  "There are: " + join(all, [](const Ref<Layer>& layer) { return layer->name(); }) + ".");
}

Ref<Layer> Model::get_layer(std::int64_t index) const {
  const std::vector<Ref<Layer>> all = layers();
  const std::int64_t at = index < 0 ? index + static_cast<std::int64_t>(all.size()) : index;
  if (at < 0 || at >= static_cast<std::int64_t>(all.size())) {
    throw Error(ErrorCode::OutOfRange, "Model.get_layer", "the index of a layer is expected",
                {{"index", index}, {"layers", all.size()}});
  }
  return all[static_cast<std::size_t>(at)];
}

// The steps.

Element Model::forward(const Element& x, bool training) { return apply(x, {.training = training}); }

void Model::track_loss(const Tensor& loss, const Element& x) {
  if (!loss_tracker_) return;
  const Tensors leaves = x.flatten();
  loss_tracker_->update_state(unscale_loss_for_replica(loss), {}, leaves.empty() ? Tensor() : batch_size_of(leaves[0]));
}

void Model::train_step(const Element& data) {
  const UnpackedData batch = unpack_x_y_sample_weight(data);
  Element y_pred;
  Gradients gradients;
  Variables variables;
  {
    GradientTape tape;
    y_pred = forward(batch.x, true);
    Tensor loss = compute_loss(batch.x, batch.y, y_pred, batch.sample_weight, true);
    track_loss(loss, batch.x);
    loss = optimizer_->scale_loss(loss);
    variables = trainable_variables();
    const NameScope scope("gradients");
    if (!variables.empty()) gradients = tape.gradient(loss, variables);
  }
  if (variables.empty()) {
    log::warn("Model '" + name() + "' has no trainable weights: fit changes nothing.");
  } else {
    optimizer_->apply(gradients, variables);
  }
  compute_metrics(batch.x, batch.y, y_pred, batch.sample_weight);
}

void Model::test_step(const Element& data) {
  const UnpackedData batch = unpack_x_y_sample_weight(data);
  const Element y_pred = forward(batch.x, false);
  track_loss(compute_loss(batch.x, batch.y, y_pred, batch.sample_weight, false), batch.x);
  compute_metrics(batch.x, batch.y, y_pred, batch.sample_weight);
}

Element Model::predict_step(const Element& data) { return forward(unpack_x_y_sample_weight(data).x, false); }

Tensor Model::compute_loss(const Element&, const Element& y, const Element& y_pred, const Element& sample_weight,
                           bool) {
  Tensor total;
  if (compiled_loss_ && !compiled_loss_->empty()) {
    total = (*compiled_loss_)(pair_outputs(y, y_pred, sample_weight, output_names()));
  }
  for (const Tensor& loss : losses()) {
    const Tensor share = scale_loss_for_replica(loss);
    total = total.defined() ? total + share : share;
  }
  if (!total.defined()) {
    throw failed_precondition(titled("Model", name()), "there must be a loss to compute", {},
                              "Give compile() a loss, call add_loss() in a layer, or override compute_loss().");
  }
  return total;
}

void Model::compute_metrics(const Element&, const Element& y, const Element& y_pred, const Element& sample_weight) {
  if (compiled_metrics_) {
    compiled_metrics_->update_state(pair_outputs(y, y_pred, sample_weight, output_names()));
  }
}

// Metrics.

std::vector<Ref<Metric>> Model::metrics() const {
  std::vector<Ref<Metric>> all;
  if (loss_tracker_) all.push_back(loss_tracker_);
  if (compiled_metrics_) {
    for (const auto& [name, metric] : compiled_metrics_->metrics()) all.push_back(metric);
  }
  if (compiled_loss_) {
    for (const Ref<Metric>& metric : compiled_loss_->metrics()) all.push_back(metric);
  }
  for (const Ref<Metric>& metric : own_metrics()) all.push_back(metric);
  for (const auto& [name, layer] : sublayers()) {
    if (dynamic_cast<const Model*>(layer.get())) continue;  // what it was compiled with is not this model's affair
    for (Ref<Metric>& metric : layer->metrics()) all.push_back(std::move(metric));
  }
  return all;
}

std::string Model::result_name(const Ref<Metric>& metric) const {
  if (compiled_metrics_) {
    for (const auto& [name, each] : compiled_metrics_->metrics()) {
      if (each == metric) return name;
    }
  }
  return metric->name();
}

std::vector<std::string> Model::metrics_names() const {
  std::vector<std::string> names;
  for (const Ref<Metric>& metric : metrics()) names.push_back(result_name(metric));
  return names;
}

void Model::reset_metrics() {
  EagerScope eager;
  for (const Ref<Metric>& metric : metrics()) metric->reset_state();
}

}  // namespace cohort
