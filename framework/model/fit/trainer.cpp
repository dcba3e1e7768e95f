#include "cohort/model/fit/trainer.h"

#include <algorithm>

#include "cohort/model/fit/data_adapter.h"
#include "cohort/model/fit/progress.h"
#include "cohort/model/fit/step_loop.h"
#include "cohort/model/fit/training.h"
#include "cohort/ops/joining.h"

namespace cohort::trainer {
namespace {

using Phase = CallbackList::Phase;

// Adds the display, which comes after the user's callbacks unless it is one of them.
std::vector<Ref<Callback>> with_progress(std::vector<Ref<Callback>> callbacks, int verbose) {
  const bool given = std::any_of(callbacks.begin(), callbacks.end(),
                                 [](const Ref<Callback>& each) { return each && each.as<ProgressBar>(); });
  if (verbose != 0 && !given) callbacks.push_back(Ref<Callback>(std::make_shared<ProgressBar>()));
  return callbacks;
}

int checked_verbosity(const std::optional<int>& verbose, const char* who) {
  if (!verbose) return default_verbosity();
  if (*verbose < 0 || *verbose > 2) throw invalid_argument(who, "verbose must be 0, 1 or 2", {{"verbose", *verbose}});
  return *verbose;
}

// None when it was interrupted.
std::optional<Logs> test_pass(StepLoop& loop, CallbackList& callbacks, const InterruptScope* interrupt = nullptr) {
  loop.begin_epoch(0);
  callbacks.test_begin();
  const Pass pass = loop.run(Phase::Test, callbacks, interrupt);
  if (pass.interrupted) return std::nullopt;
  Logs logs = loop.runner().end_epoch();
  callbacks.set_steps(pass.steps);
  callbacks.test_end(logs);
  return logs;
}

// One pass over data, as evaluate and predict make it.
struct SinglePass {
  template <class Options>
  SinglePass(Model& model, Program::Kind kind, const DataArgument& data, const Options& options, const char* who)
      : SinglePass(model, kind, data, options, who, checked_verbosity(options.verbose, who)) {}

  StepLoop loop;
  CallbackList callbacks;

 private:
  template <class Options>
  SinglePass(Model& model, Program::Kind kind, const DataArgument& data, const Options& options, const char* who,
             int verbose)
      : loop(model, model.training().program(kind), adapt_data(data, {.who = who, .batch_size = options.batch_size}),
             options.steps, who),
        callbacks(with_progress(options.callbacks, verbose), model,
                  {.verbose = verbose, .epochs = 1, .steps = loop.runner().steps()}) {}
};

void check(const FitOptions& options) {
  constexpr const char* kWho = "Model.fit";
  if (options.epochs < 0) throw invalid_argument(kWho, "epochs must not be negative", {{"epochs", options.epochs}});
  if (options.initial_epoch < 0) {
    throw invalid_argument(kWho, "initial_epoch must not be negative", {{"initial_epoch", options.initial_epoch}});
  }
  options.validation_freq.check();
}

// What the metrics hold.
std::vector<std::pair<Variable, Tensor>> metrics_of(const Model& model) {
  std::vector<std::pair<Variable, Tensor>> values;
  for (const Ref<Metric>& metric : model.metrics()) {
    for (const Variable& variable : metric->variables()) values.emplace_back(variable, read_now(variable).clone());
  }
  return values;
}

// The passes over the validation data of a fit.
class Validation {
 public:
  Validation(Model& model, DataArgument data, const FitOptions& options)
      : model_(model), data_(std::move(data)), options_(options) {}

  bool due_after(std::int64_t epoch) const { return !data_.empty() && options_.validation_freq.includes(epoch + 1); }

  // Adds the figures to those of the epoch; false when it was interrupted, with the metrics as they were before.
  bool run(CallbackList& callbacks, const InterruptScope& interrupt, Logs& logs) {
    if (!loop_) begin();
    const std::vector<std::pair<Variable, Tensor>> trained = metrics_of(model_);
    const std::optional<Logs> figures = test_pass(*loop_, callbacks, &interrupt);
    if (!figures) {
      for (const auto& [variable, value] : trained) write_now(variable, value);
      return false;
    }
    for (const auto& [name, value] : *figures) logs.set("val_" + name, value);
    logs.sort_by_name();
    return true;
  }

 private:
  void begin() {
    constexpr const char* kWho = "Model.fit (validation)";
    std::optional<std::int64_t> batch_size = options_.validation_batch_size;
    if (!batch_size && data_.is_tensors()) batch_size = options_.batch_size;
    loop_ = std::make_unique<StepLoop>(model_, model_.training().program(Program::Kind::Test),
                                       adapt_data(data_, {.who = kWho, .batch_size = batch_size}),
                                       options_.validation_steps, kWho);
  }

  Model& model_;
  const DataArgument data_;
  const FitOptions& options_;
  std::unique_ptr<StepLoop> loop_;
};

// Interrupted, where what was begun is done, or Cancelled, in the middle of it.
enum class EpochEnd { Done, Stopped, Interrupted, Cancelled };

// Leaves the figures in `logs` once the training of the epoch is done.
EpochEnd run_epoch(std::int64_t epoch, StepLoop& training, Validation& validation, CallbackList& callbacks,
                   const InterruptScope& interrupt, const Model& model, Logs& logs) {
  training.begin_epoch(epoch);
  callbacks.epoch_begin(epoch);
  const Pass pass = training.run(Phase::Train, callbacks, &interrupt);
  if (pass.interrupted) return pass.exact ? EpochEnd::Interrupted : EpochEnd::Cancelled;
  logs = training.runner().end_epoch();
  callbacks.set_steps(pass.steps);
  if (validation.due_after(epoch) && !validation.run(callbacks, interrupt, logs)) {
    training.agree(&interrupt);
    return EpochEnd::Interrupted;
  }
  training.finish_epoch();
  callbacks.epoch_end(epoch, logs);
  const RunSignals agreed = training.agree(&interrupt);
  if (model.stop_training) return EpochEnd::Stopped;
  return agreed.interrupted ? EpochEnd::Interrupted : EpochEnd::Done;
}

// All epochs, with what callbacks do before and after them.
void run_epochs(Model& model, const FitOptions& options, StepLoop& training, Validation& validation,
                CallbackList& callbacks, const InterruptScope& interrupt) {
  FitControl control(training, model, callbacks);
  callbacks.set_run(control);
  model.stop_training = false;
  if (callbacks.needs_built_model()) training.runner().build();
  callbacks.train_begin();
  const std::optional<Position>& restored = control.begin();
  const std::int64_t first_epoch = restored ? restored->epoch : options.initial_epoch;
  const std::int64_t end = restored && restored->stopped ? first_epoch : options.epochs;
  Logs logs;
  EpochEnd ended = EpochEnd::Done;
  for (std::int64_t epoch = first_epoch; epoch < end && ended == EpochEnd::Done; ++epoch) {
    ended = run_epoch(epoch, training, validation, callbacks, interrupt, model, logs);
  }
  training.runner().synchronize();
  const bool interrupted = ended == EpochEnd::Interrupted || ended == EpochEnd::Cancelled;
  if (interrupted) control.set_interrupted();
  if (ended == EpochEnd::Interrupted && training.terminated()) callbacks.preemption();
  if (model.optimizer()->built() && (restored || first_epoch < options.epochs)) {
    model.optimizer()->finalize_variable_values(model.trainable_variables());
  }
  callbacks.train_end(logs);
  if (!interrupted) return;
  training.runner().end_run();
  throw Error(ErrorCode::Cancelled, "Model.fit",
              training.terminated() ? "training was ended by SIGTERM" : "training was interrupted from the keyboard",
              {}, "The model keeps what it has learnt.");
}

}  // namespace

History fit(Model& model, DataArgument data, const FitOptions& options) {
  constexpr const char* kWho = "Model.fit";
  check(options);
  const int verbose = checked_verbosity(options.verbose, kWho);
  DataArgument validation_data = options.validation_data;
  if (options.validation_split != 0.0 && validation_data.empty()) {
    std::tie(data, validation_data) = split_for_validation(data, options.validation_split);
  }
  const RunnerData train_data = adapt_data(data, {.who = kWho,
                                                  .batch_size = options.batch_size,
                                                  .shuffle = options.shuffle,
                                                  .class_weight = options.class_weight});
  StepLoop training(model, model.training().program(Program::Kind::Train), train_data, options.steps_per_epoch, kWho,
                    model.training().begin_fit());
  Validation validation(model, std::move(validation_data), options);

  History history;
  std::vector<Ref<Callback>> all = options.callbacks;
  all.push_back(Ref<Callback>(std::make_shared<HistoryRecorder>(history)));
  CallbackList callbacks(with_progress(std::move(all), verbose), model,
                         {.verbose = verbose, .epochs = options.epochs, .steps = training.runner().steps()});
  const InterruptScope interrupt;
  run_epochs(model, options, training, validation, callbacks, interrupt);
  return history;
}

Logs evaluate(Model& model, const DataArgument& data, const EvaluateOptions& options) {
  SinglePass pass(model, Program::Kind::Test, data, options, "Model.evaluate");
  return *test_pass(pass.loop, pass.callbacks);
}

Element predict(Model& model, const DataArgument& data, const PredictOptions& options) {
  SinglePass single(model, Program::Kind::Predict, data, options, "Model.predict");
  auto& [loop, callbacks] = single;
  std::vector<Element> outputs;
  loop.begin_epoch(0);
  callbacks.predict_begin();
  const Pass pass = loop.run(Phase::Predict, callbacks, nullptr, &outputs);
  Logs logs = loop.runner().end_epoch();
  callbacks.set_steps(pass.steps);
  callbacks.predict_end(logs);

  std::vector<Tensors> columns;
  for (const Element& output : outputs) {
    const Tensors leaves = output.flatten();
    columns.resize(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) columns[i].push_back(leaves[i]);
  }
  Tensors joined;
  for (const Tensors& column : columns) joined.push_back(column.size() == 1 ? column[0] : ops::concatenate(column, 0));
  return outputs[0].with_leaves(joined);
}

}  // namespace cohort::trainer
