#include "cohort/model/classification_names.h"
#include "cohort/model/compiled_loss.h"
#include "cohort/model/compiled_metrics.h"
#include "cohort/model/fit/data_adapter.h"
#include "cohort/model/fit/trainer.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/model.h"
#include "cohort/optimizers/loss_scale_optimizer.h"
#include "cohort/variables/variable_body.h"

namespace cohort {
namespace {

// A name nobody registered is an error of compile, not of the first batch.
void check_loss_and_metric_names(const CompileOptions& options) {
  for (const auto& [output, loss] : options.loss.items) {
    if (loss.is_name() && label_measure(loss.name()) != LabelMeasure::Crossentropy) Loss::from_name(loss.name());
  }
  for (const MetricsArgument* argument : {&options.metrics, &options.weighted_metrics}) {
    for (const auto& [output, metrics] : argument->items) {
      for (const MetricItem& metric : metrics) {
        if (metric.is_name() && label_measure(metric.name()) == LabelMeasure::None) Metric::from_name(metric.name());
      }
    }
  }
}

void refuse_sample_weight(const FitOptions& options) {
  if (options.sample_weight.empty()) return;
  throw invalid_argument("Model.fit", "sample_weight is for tensors", {},
                         "Let the dataset give (x, y, sample_weight).");
}

}  // namespace

void Model::compile(CompileOptions options) {
  if (!options.optimizer) throw invalid_argument("Model.compile", "an optimizer must be given");
  if (options.steps_per_execution < 1) {
    throw invalid_argument("Model.compile", "steps_per_execution must be positive",
                           {{"steps_per_execution", options.steps_per_execution}});
  }
  check_loss_and_metric_names(options);
  // Outside the strategy's scope a step could reach its state only by way of this process.
  if (options.optimizer->iterations().body()->made_under() != strategy()->variable_creator()) {
    throw invalid_argument("Model.compile", "the optimizer must be made under the model's strategy",
                           {{"optimizer", options.optimizer->name()}, {"model", name()}},
                           "Make the optimizer and call compile() within strategy.scope().");
  }
  StrategyScope scope(strategy());
  training_->forget_programs();
  compile_options_ = std::move(options);
  optimizer_ = compile_options_.optimizer;
  // Gradients in float16 would vanish.
  if (compile_options_.auto_scale_loss && dtype_policy() == DTypePolicy("mixed_float16") &&
      !optimizer_.as<optimizers::LossScalingOptimizer>()) {
    optimizer_ = optimizers::LossScaleOptimizer(optimizer_);
  }
  loss_tracker_ = make_mean("loss");
  compiled_loss_ = std::make_unique<CompiledLoss>(compile_options_.loss, compile_options_.loss_weights);
  compiled_metrics_ = std::make_unique<CompiledMetrics>(compile_options_.metrics, compile_options_.weighted_metrics);
  compiled_ = true;
}

void Model::require_compiled(const char* method) const {
  if (!compiled_) {
    throw failed_precondition(std::string("Model.") + method, "the model must be compiled before", {{"model", name()}},
                              "Call compile() first.");
  }
}

History Model::fit(const Dataset& data, FitOptions options) {
  require_compiled("fit");
  refuse_sample_weight(options);
  return trainer::fit(*this, data, options);
}

History Model::fit(const DatasetCreator& data, FitOptions options) {
  require_compiled("fit");
  refuse_sample_weight(options);
  return trainer::fit(*this, data, options);
}

History Model::fit(const TensorArgument& x, const TensorArgument& y, FitOptions options) {
  require_compiled("fit");
  return trainer::fit(*this, DataArgument(x, y, options.sample_weight), options);
}

Logs Model::in_metric_order(const Logs& logs) const {
  Logs ordered;
  for (const std::string& name : metrics_names()) {
    if (const auto value = logs.find(name)) ordered.set(name, *value);
  }
  for (const auto& [name, value] : logs) ordered.set(name, value);
  return ordered;
}

Logs Model::evaluate(const Dataset& data, EvaluateOptions options) {
  require_compiled("evaluate");
  return in_metric_order(trainer::evaluate(*this, data, options));
}

Logs Model::evaluate(const DatasetCreator& data, EvaluateOptions options) {
  require_compiled("evaluate");
  return in_metric_order(trainer::evaluate(*this, data, options));
}

Logs Model::evaluate(const TensorArgument& x, const TensorArgument& y, EvaluateOptions options) {
  require_compiled("evaluate");
  return in_metric_order(trainer::evaluate(*this, DataArgument(x, y, options.sample_weight), options));
}

Element Model::predict_element(const DataArgument& data, PredictOptions options) {
  return trainer::predict(*this, data, options);
}

namespace {

Tensor single(const Element& outputs, const char* who) {
  if (outputs.is_leaf()) return outputs.leaf();
  throw failed_precondition(who, "a model of one output is expected", {{"outputs", outputs.flatten().size()}},
                            "Use the form that returns an Element.");
}

}  // namespace

Tensor Model::predict(const Dataset& data, PredictOptions options) {
  return single(predict_element(data, std::move(options)), "Model.predict");
}

Tensor Model::predict(const TensorArgument& x, PredictOptions options) {
  return single(predict_element(DataArgument(x, {}), std::move(options)), "Model.predict");
}

Logs Model::train_on_batch(const TensorArgument& x, const TensorArgument& y, TrainOnBatchOptions options) {
  require_compiled("train_on_batch");
  reset_metrics();
  const std::shared_ptr<Program> program = training_->program(Program::Kind::Train);
  const Element batch = pack_batch("Model.train_on_batch", x, y, options.sample_weight, options.class_weight);
  training_->strategy()->run_on_batch(*program, batch, training_->begin_batch());
  Logs logs;
  program->read_results(logs);
  return in_metric_order(logs);
}

Logs Model::test_on_batch(const TensorArgument& x, const TensorArgument& y, const TensorArgument& sample_weight) {
  require_compiled("test_on_batch");
  reset_metrics();
  const std::shared_ptr<Program> program = training_->program(Program::Kind::Test);
  const Element batch = pack_batch("Model.test_on_batch", x, y, sample_weight, {});
  training_->strategy()->run_on_batch(*program, batch, {.seed = global_seed()});
  Logs logs;
  program->read_results(logs);
  return in_metric_order(logs);
}

Element Model::predict_on_batch_element(const Element& x) {
  return training_->strategy()->run_on_batch(*training_->program(Program::Kind::Predict), Element::tuple({x}),
                                             {.seed = global_seed()});
}

Tensor Model::predict_on_batch(const TensorArgument& x) {
  return single(predict_on_batch_element(x.element()), "Model.predict_on_batch");
}

}  // namespace cohort
