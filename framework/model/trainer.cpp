#include "cohort/model/trainer.h"

#include <limits>

#include "cohort/core/log.h"
#include "cohort/model/callback_list.h"
#include "cohort/model/data_adapter.h"
#include "cohort/model/interrupt.h"
#include "cohort/model/progress.h"
#include "cohort/model/strategy.h"
#include "cohort/ops/joining.h"

namespace cohort::trainer {
namespace {

using Phase = CallbackList::Phase;

// How one pass over the data ended.
struct Pass {
  std::int64_t steps = 0;
  bool stopped = false;      // stop_training
  bool interrupted = false;  // Ctrl-C
};

class Loop {
 public:
  Loop(Model& model, std::shared_ptr<Program> program, const RunnerData& data, std::optional<std::int64_t> steps,
       const char* who, std::uint64_t fit = 0)
      : model_(model),
        steps_per_execution_(model.compiled() ? model.compile_options().steps_per_execution : 1),
        who_(who),
        asked_(steps),
        runner_(model.strategy()->make_runner(
            std::move(program), data,
            {.steps_per_epoch = steps, .steps_per_execution = steps_per_execution_, .fit = fit})) {
    if (steps && *steps <= 0) throw invalid_argument(who_, "the number of steps must be positive", {{"steps", *steps}});
  }

  StepRunner& runner() { return *runner_; }

  Pass run(Phase phase, std::int64_t epoch, CallbackList& callbacks, const InterruptScope* interrupt,
           std::vector<Element>* outputs = nullptr) {
    const std::int64_t limit = runner_->steps().value_or(std::numeric_limits<std::int64_t>::max());
    Pass pass;
    while (pass.steps < limit) {
      callbacks.batch_begin(phase, pass.steps);
      Execution execution = runner_->run(pass.steps, std::min(steps_per_execution_, limit - pass.steps));
      pass.steps += execution.steps;
      if (execution.steps > 0) {
        if (outputs) {
          for (Element& output : execution.outputs) outputs->push_back(std::move(output));
        }
        callbacks.batch_end(phase, pass.steps - 1, execution);
      }
      pass.interrupted = interrupt && interrupt->interrupted();
      if (execution.data_ended) {
        if (asked_ && pass.steps < *asked_ && pass.steps > 0) {
          log::warn(std::string(who_) + ": the data ended after " + std::to_string(pass.steps) + " of " +
                    std::to_string(*asked_) + " batches. Use repeat() on the dataset, or ask for fewer steps.");
        }
        break;
      }
      if (phase == Phase::Train && model_.stop_training) {
        pass.stopped = true;
        break;
      }
      if (pass.interrupted) break;
    }
    if (pass.steps == 0) {
      throw invalid_argument(who_, "the data must hold at least one batch", {{"epoch", epoch}},
                             "Check that the dataset is not empty.");
    }
    return pass;
  }

 private:
  Model& model_;
  std::int64_t steps_per_execution_;
  const char* who_;
  std::optional<std::int64_t> asked_;
  std::unique_ptr<StepRunner> runner_;
};

// Adds the display, which comes after the user's callbacks.
std::vector<Ref<Callback>> with_progress(std::vector<Ref<Callback>> callbacks, int verbose) {
  if (verbose != 0) callbacks.push_back(Ref<Callback>(std::make_shared<ProgressBar>()));
  return callbacks;
}

int checked_verbosity(const std::optional<int>& verbose, const char* who) {
  if (!verbose) return default_verbosity();
  if (*verbose < 0 || *verbose > 2) throw invalid_argument(who, "verbose must be 0, 1 or 2", {{"verbose", *verbose}});
  return *verbose;
}

// None when Ctrl-C ended it early.
std::optional<Logs> test_pass(Loop& loop, CallbackList& callbacks, const InterruptScope* interrupt = nullptr) {
  loop.runner().begin_epoch(0);
  callbacks.test_begin();
  const Pass pass = loop.run(Phase::Test, 0, callbacks, interrupt);
  if (pass.interrupted) {
    loop.runner().cancel();
    return std::nullopt;
  }
  Logs logs = loop.runner().end_epoch();
  callbacks.set_steps(pass.steps);
  callbacks.test_end(logs);
  return logs;
}

void check(const FitOptions& options) {
  constexpr const char* kWho = "Model.fit";
  if (options.epochs < 0) throw invalid_argument(kWho, "epochs must not be negative", {{"epochs", options.epochs}});
  if (options.initial_epoch < 0) {
    throw invalid_argument(kWho, "initial_epoch must not be negative", {{"initial_epoch", options.initial_epoch}});
  }
  options.validation_freq.check();
}

}  // namespace

History fit(Model& model, DataArgument data, const FitOptions& options) {
  constexpr const char* kWho = "Model.fit";
  check(options);
  const int verbose = checked_verbosity(options.verbose, kWho);
  DataArgument validation = options.validation_data;
  if (options.validation_split != 0.0 && validation.empty()) {
    std::tie(data, validation) = split_for_validation(data, options.validation_split);
  }
  const RunnerData train_data = adapt_data(data, {.who = kWho,
                                                  .batch_size = options.batch_size,
                                                  .shuffle = options.shuffle,
                                                  .class_weight = options.class_weight});
  Loop training(model, model.train_program(), train_data, options.steps_per_epoch, kWho, model.begin_fit());
  std::unique_ptr<Loop> testing;

  History history;
  std::vector<Ref<Callback>> all = options.callbacks;
  all.push_back(Ref<Callback>(std::make_shared<HistoryRecorder>(history)));
  CallbackList callbacks(with_progress(std::move(all), verbose), model,
                         {.verbose = verbose, .epochs = options.epochs, .steps = training.runner().steps()});

  model.stop_training = false;
  model.initial_epoch_override = -1;
  InterruptScope interrupt;
  callbacks.train_begin();
  const std::int64_t first_epoch =
      model.initial_epoch_override >= 0 ? model.initial_epoch_override : options.initial_epoch;
  Logs logs;
  bool interrupted = false;
  for (std::int64_t epoch = first_epoch; epoch < options.epochs && !interrupted; ++epoch) {
    training.runner().begin_epoch(epoch);
    callbacks.epoch_begin(epoch);
    const Pass pass = training.run(Phase::Train, epoch, callbacks, &interrupt);
    if (pass.stopped || pass.interrupted) training.runner().cancel();
    interrupted = pass.interrupted;
    if (interrupted) break;
    logs = training.runner().end_epoch();
    callbacks.set_steps(pass.steps);
    if (!validation.empty() && options.validation_freq.includes(epoch + 1)) {
      if (!testing) {
        const std::optional<std::int64_t> batch_size =
            options.validation_batch_size ? options.validation_batch_size
                                          : (validation.is_tensors() ? options.batch_size : std::nullopt);
        testing =
            std::make_unique<Loop>(model, model.test_program(),
                                   adapt_data(validation, {.who = "Model.fit (validation)", .batch_size = batch_size}),
                                   options.validation_steps, "Model.fit (validation)");
      }
      const std::optional<Logs> figures = test_pass(*testing, callbacks, &interrupt);
      interrupted = !figures;
      if (interrupted) break;
      for (const auto& [name, value] : *figures) logs.set("val_" + name, value);
      logs.sort_by_name();
    }
    callbacks.epoch_end(epoch, logs);
    if (model.stop_training) break;
    interrupted = interrupt.interrupted();
  }
  training.runner().synchronize();
  if (model.optimizer()->built() && first_epoch < options.epochs) {
    model.optimizer()->finalize_variable_values(model.trainable_variables());
  }
  callbacks.train_end(logs);
  if (interrupted) {
    throw Error(ErrorCode::Cancelled, kWho, "training was interrupted from the keyboard", {},
                "The model keeps what it has learnt.");
  }
  return history;
}

Logs evaluate(Model& model, const DataArgument& data, const EvaluateOptions& options) {
  constexpr const char* kWho = "Model.evaluate";
  const int verbose = checked_verbosity(options.verbose, kWho);
  Loop loop(model, model.test_program(), adapt_data(data, {.who = kWho, .batch_size = options.batch_size}),
            options.steps, kWho);
  CallbackList callbacks(with_progress(options.callbacks, verbose), model,
                         {.verbose = verbose, .epochs = 1, .steps = loop.runner().steps()});
  return *test_pass(loop, callbacks);
}

Element predict(Model& model, const DataArgument& data, const PredictOptions& options) {
  constexpr const char* kWho = "Model.predict";
  const int verbose = checked_verbosity(options.verbose, kWho);
  Loop loop(model, model.predict_program(), adapt_data(data, {.who = kWho, .batch_size = options.batch_size}),
            options.steps, kWho);
  CallbackList callbacks(with_progress(options.callbacks, verbose), model,
                         {.verbose = verbose, .epochs = 1, .steps = loop.runner().steps()});
  std::vector<Element> outputs;
  loop.runner().begin_epoch(0);
  callbacks.predict_begin();
  const Pass pass = loop.run(Phase::Predict, 0, callbacks, nullptr, &outputs);
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

Element run_on_batch(Program& program, const Element& batch, std::int64_t step) {
  RandomState random{.seed = global_seed(), .step = static_cast<std::uint64_t>(step)};
  Device& device = default_device();
  Tensors leaves = batch.flatten();
  for (Tensor& leaf : leaves) leaf = leaf.to(device);
  if (program.eager()) return program.run_eagerly(batch.with_leaves(leaves), random);
  const StepGraph& graph = program.step(spec_of(batch));
  leaves.insert(leaves.end(), graph.traced.captures.begin(), graph.traced.captures.end());
  Tensors outputs(graph.traced.graph->outputs.size());
  graph.executables->run(leaves, outputs, random, device);
  return graph.outputs.with_leaves(outputs);
}

}  // namespace cohort::trainer
