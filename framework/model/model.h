#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/model/compile_options.h"
#include "cohort/model/fit/data_argument.h"
#include "cohort/model/fit/fit_options.h"
#include "cohort/model/fit/history.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/symbols/symbolic_tensor.h"

namespace cohort {

class CompiledLoss;
class CompiledMetrics;
class FunctionalGraph;
class Strategy;
class Training;

// What a model is made with besides its layers.
struct ModelOptions {
  std::string name = {};
};

// What Model::summary takes.
struct SummaryOptions {
  // Width of the table in characters; 0: as wide as Keras makes it.
  std::int64_t line_length = 0;
  // Show the layers of models within the model.
  bool expand_nested = false;
  // Add a column that tells whether each layer is trained.
  bool show_trainable = false;
};

// What Model::save and save_weights take.
struct SaveOptions {
  // Replace a file that exists; false: throw.
  bool overwrite = true;
};

// What Model::load_weights takes.
struct LoadWeightsOptions {
  // Of a legacy .h5 file alone: layers take the weights stored under their names, layers without any keep theirs.
  std::optional<bool> by_name = std::nullopt;
  // Layers whose weights do not fit keep theirs, with a warning that names them.
  bool skip_mismatch = false;
};

// What Model::export_graph takes.
struct ExportOptions {
  // Replace a file that exists; false: throw.
  bool overwrite = true;
  // What predict_step is traced for (axis 0 the batch); none: the inputs of a functional model or a built Sequential.
  std::optional<ElementSpec> input_signature = std::nullopt;
};

// A layer that can be trained: compile, fit, evaluate, predict. Made from symbols it is a functional model; a user's
// own derives and overrides call(), or a step. Not copyable; to use one inside another model make it shared:
// ch::make<ch::Model>(...).
class Model : public Layer {
 public:
  // A model whose class computes in call().
  explicit Model(ModelOptions options = {});
  // A functional model.
  //   inputs: symbols made by Input: one, a list, or a dict by name.
  //   outputs: symbols computed from them, in one of the same forms.
  Model(Symbols inputs, Symbols outputs, ModelOptions options = {});
  ~Model() override;
  std::string class_name() const override;
  std::string module_name() const override;

  // Sets how the model is trained: optimizer, loss, metrics. Before fit, evaluate and the like; again to change it.
  void compile(CompileOptions options = {});
  // True once compile() was called.
  bool compiled() const { return compiled_; }

  // Trains for a number of epochs; the figures of each.
  //   data: a dataset of batches (x, y) or (x, y, sample_weight), or a function that makes one on each worker.
  //   x: inputs: a tensor, a list or a dict by input name; samples along axis 0.
  //   y: targets: a tensor, a list or a dict by output name.
  History fit(const Dataset& data, FitOptions options = {});
  History fit(const DatasetCreator& data, FitOptions options = {});
  History fit(const TensorArgument& x, const TensorArgument& y, FitOptions options = {});
  // Computes the loss and the metrics without training: the loss, then the metrics in compile's order; named as fit's
  // logs name them.
  Logs evaluate(const Dataset& data, EvaluateOptions options = {});
  Logs evaluate(const DatasetCreator& data, EvaluateOptions options = {});
  Logs evaluate(const TensorArgument& x, const TensorArgument& y, EvaluateOptions options = {});
  // Outputs for all batches, joined along axis 0. May be called from several threads at once.
  Tensor predict(const Dataset& data, PredictOptions options = {});
  Tensor predict(const TensorArgument& x, PredictOptions options = {});
  // The same for a model of several outputs.
  Element predict_element(const DataArgument& data, PredictOptions options = {});

  // One step on one batch; the figures are those of this batch alone.
  Logs train_on_batch(const TensorArgument& x, const TensorArgument& y = {}, TrainOnBatchOptions options = {});
  // The figures of one batch, without training.
  Logs test_on_batch(const TensorArgument& x, const TensorArgument& y = {}, const TensorArgument& sample_weight = {});
  // The outputs for one batch.
  Tensor predict_on_batch(const TensorArgument& x);
  // The same for a model of several outputs.
  Element predict_on_batch_element(const Element& x);

  // What fit does with one batch, for a user to override: forward, loss, gradients, update, metrics. `data` is one
  // element of the dataset: (x, y, sample_weight) or less.
  virtual void train_step(const Element& data);
  // What evaluate does with one batch, for a user to override: forward, loss, metrics.
  virtual void test_step(const Element& data);
  // What predict does with one batch, for a user to override: the outputs.
  virtual Element predict_step(const Element& data);
  // The total loss: the compiled losses and everything in losses().
  virtual Tensor compute_loss(const Element& x, const Element& y, const Element& y_pred, const Element& sample_weight,
                              bool training);
  // Updates the compiled metrics with a batch.
  virtual void compute_metrics(const Element& x, const Element& y, const Element& y_pred, const Element& sample_weight);
  // Adds a batch's loss to the running mean "loss", weighed by the batch's size.
  void track_loss(const Tensor& loss, const Element& x);

  Element call_element(const Element& inputs, const CallContext& context) override;
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }

  // Loss, compiled metrics, losses of the outputs, its own, its layers'.
  std::vector<Ref<Metric>> metrics() const override;
  // The names of metrics().
  std::vector<std::string> metrics_names() const;
  // The name of a metric's figure in logs: "accuracy", "label_accuracy", "weighted_mse".
  std::string result_name(const Ref<Metric>& metric) const;
  // Zeroes all metrics.
  void reset_metrics();

  // The optimizer compile() was given, wrapped in a LossScaleOptimizer under mixed_float16; empty before.
  const Ref<Optimizer>& optimizer() const { return optimizer_; }
  // What compile() was given.
  const CompileOptions& compile_options() const { return compile_options_; }
  // The layers, in Keras's order. A Sequential leaves its Input out.
  virtual std::vector<Ref<Layer>> layers() const;
  // A layer by its name or its index in layers(), negative ones from the back; throws when there is none.
  Ref<Layer> get_layer(std::string_view name) const;
  Ref<Layer> get_layer(std::int64_t index) const;
  // A functional model's graph; nullptr for a model that computes in code.
  virtual const FunctionalGraph* functional() const { return functional_.get(); }
  // The symbols it leads from and to; throws for a model that computes in code.
  virtual Symbols inputs() const;
  // The symbols it leads to; throws for a model that computes in code.
  virtual Symbols outputs() const;
  // Names of the outputs: those of the layers they come from, or the dict's keys.
  virtual std::vector<std::string> output_names() const;

  // Prints a table of the layers, their output shapes and parameters.
  void summary(SummaryOptions options = {}) const;
  // The same as a string.
  std::string summary_text(SummaryOptions options = {}) const;
  // Writes architecture, weights and training state to a .keras file (or .h5, Keras's older format).
  void save(const std::string& path, SaveOptions options = {}) const;
  // Writes the weights alone, to .weights.h5 (or .h5 in the older layout).
  void save_weights(const std::string& path, SaveOptions options = {}) const;
  // Reads weights from a file that save_weights() or save() wrote, into those that exist: a model must be built before.
  void load_weights(const std::string& path, LoadWeightsOptions options = {});
  // Writes what predict computes, weights included, as one graph that load_exported() runs without the model's classes
  // (Keras's export; in C++ that is a keyword).
  void export_graph(const std::string& path, ExportOptions options = {});

  // A callback sets it; fit ends after the current batch.
  std::atomic<bool> stop_training = false;

  // The strategy it was made under.
  const std::shared_ptr<Strategy>& strategy() const;
  // The engine behind fit, for those who extend it: traced steps and what is counted (model/fit/training.h).
  Training& training() const { return *training_; }

 protected:
  // The model's outputs for x.
  Element forward(const Element& x, bool training);
  VariableCreator* variable_creator() const override;
  bool casts_inputs() const override { return functional() == nullptr; }

 private:
  void require_compiled(const char* method) const;
  Logs in_metric_order(const Logs& logs) const;

  std::unique_ptr<FunctionalGraph> functional_;
  std::unique_ptr<Training> training_;
  CompileOptions compile_options_ = {.optimizer = nullptr};
  Ref<Optimizer> optimizer_;
  Ref<Metric> loss_tracker_;
  std::unique_ptr<CompiledLoss> compiled_loss_;
  std::unique_ptr<CompiledMetrics> compiled_metrics_;
  bool compiled_ = false;
};

}  // namespace cohort
