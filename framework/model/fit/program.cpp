#include "cohort/model/fit/program.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/masks.h"
#include "cohort/core/step_draws.h"
#include "cohort/core/text.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/layer/untracked.h"
#include "cohort/model/model.h"
#include "cohort/ops/logits.h"
#include "cohort/variables/replica_context.h"

namespace cohort {
namespace {

// Runs ops at once, random ones at a given place of the run.
class EagerAt : public Dispatcher {
 public:
  explicit EagerAt(const RandomState& random) : random_(random) {}
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override {
    return cohort::run_eagerly(op, inputs, attributes, random_);
  }

 private:
  RandomState random_;
};

// item() goes through a vector; what metrics give as a rule is copied straight from the device.
double number_in(const Tensor& value) {
  if (value.dtype() != DType::Float32) return value.item<double>();
  float number = 0.0f;
  value.device().copy_to_host(&number, value.raw(), sizeof number);
  return static_cast<double>(number);
}

}  // namespace

Program::Program(Model& model, Kind kind) : model_(&model), kind_(kind) {}

bool Program::eager() const { return model_->compile_options().run_eagerly; }

Element Program::call_step(const Element& element) {
  LogitsScope logits;
  MaskScope masks;
  switch (kind_) {
    case Kind::Train:
      model_->train_step(element);
      return {};
    case Kind::Test:
      model_->test_step(element);
      return {};
    default:
      return model_->predict_step(element);
  }
}

const StepGraph* Program::find_step(const ElementSpec& spec) {
  std::lock_guard lock(mutex_);
  for (const auto& known : steps_) {
    if (known->spec.same_structure(spec) && known->spec.flatten() == spec.flatten()) return known.get();
  }
  return nullptr;
}

const StepGraph* Program::latest_step() {
  std::lock_guard lock(mutex_);
  return steps_.empty() ? nullptr : steps_.back().get();
}

const StepGraph& Program::step(const ElementSpec& spec) {
  const ElementSpec wanted = with_unknown_batch(spec);
  if (const StepGraph* known = find_step(wanted)) return *known;
  std::lock_guard tracing(model_->training().trace_mutex());
  if (const StepGraph* known = find_step(wanted)) return *known;  // another thread was quicker
  StrategyScope strategy(model_->strategy());  // the step may make layers' weights, metrics and optimizer slots
  auto made = std::make_unique<StepGraph>();
  const ReplicaScope replica(model_->strategy()->replica_context());
  made->spec = wanted;
  made->traced = trace(wanted.flatten(), [&](const Tensors& leaves) {
    const Element result = call_step(wanted.with_leaves(leaves));
    made->outputs = spec_of(result);
    return result.flatten();
  });
  model_->clear_losses();
  warn_of_untracked_variables(*model_, made->traced.captures);
  made->executables = std::make_unique<ExecutableCache>(made->traced.graph);
  std::lock_guard lock(mutex_);
  steps_.push_back(std::move(made));
  return *steps_.back();
}

Element Program::run_eagerly(const Element& element, const RandomState& random) {
  StrategyScope strategy(model_->strategy());
  const StepDraws draws;
  EagerAt dispatcher(random);
  DispatcherScope scope(dispatcher);
  return call_step(element);
}

void Program::reset_metrics() {
  std::lock_guard lock(mutex_);
  // The first step may have added metrics.
  if (results_ && results_->metrics != model_->metrics()) results_.reset();
  model_->reset_metrics();
}

void Program::read_results(Logs& logs) {
  std::lock_guard lock(mutex_);
  if (!results_) {
    auto made = std::make_unique<ResultGraph>();
    made->metrics = model_->metrics();
    made->traced = trace({}, [&](const Tensors&) {
      Tensors values;
      for (const Ref<Metric>& metric : made->metrics) {
        values.push_back(metric->result());
        made->names.push_back(model_->result_name(metric));
      }
      return values;
    });
    made->executables = std::make_unique<ExecutableCache>(made->traced.graph);
    results_ = std::move(made);
    result_values_.resize(results_->names.size());
  }
  results_->executables->run(results_->traced.captures, result_values_, {});
  for (std::size_t i = 0; i < result_values_.size(); ++i) {
    if (result_values_[i].num_elements() != 1) {
      throw failed_precondition(titled("Metric", results_->names[i]), "a metric's result must be one number",
                                {{"shape", result_values_[i].shape()}});
    }
    results_->figures.set(results_->names[i], number_in(result_values_[i]));
  }
  results_->figures.sort_by_name();
  logs = results_->figures;  // into the memory of the batch before
}

}  // namespace cohort
