#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cohort/callbacks/callbacks.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"

// A training run that everything random has a part in, small enough to be repeated from each of its batches.
namespace cohort::callbacks::small_run {

inline constexpr int kSamples = 70, kBatch = 8, kPass = 9;  // batches of a pass; the last one is smaller
inline constexpr std::int64_t kEpochs = 4;

struct Setting {
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;
  std::int64_t steps_per_execution = 1;
  bool repeats = false;
  bool eager = false;
  bool averages = false;  // the optimizer keeps averages of the weights
};

inline Dataset data(const Setting& setting) {
  std::vector<float> x(kSamples * 6);
  std::vector<std::int32_t> y(kSamples);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 1000) / 500.0f - 1.0f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * i % 4);
  Dataset rows = datasets::from_tensor_slices(Tensor::of(x, {kSamples, 6}), Tensor::of(y, {kSamples})).shuffle(50);
  if (setting.repeats) rows = rows.repeat();
  return rows.batch(kBatch).prefetch(2);
}

// What a run ends with: every bit of the weights and the optimizer, and the figures of its epochs.
struct Outcome {
  std::vector<float> state;
  History history;
};

inline std::vector<float> state_of(const Model& model) {
  std::vector<float> state;
  Variables variables = model.weights();
  const Variables& optimizer = model.optimizer()->variables();
  variables.insert(variables.end(), optimizer.begin(), optimizer.end());
  for (const Variable& variable : variables) {
    for (float value : read_now(variable).to_vector<float>()) state.push_back(value);
  }
  return state;
}

// Restarts the program, as a new process would.
inline Outcome train(const Setting& setting, std::vector<Ref<Callback>> callbacks) {
  set_random_seed(7);
  const Dataset batches = data(setting);
  Sequential model({layers::Dense(12, {.activation = "relu"}), layers::Dropout(0.3), layers::Dense(4)});
  model.compile({.optimizer = optimizers::Adam(1e-2, {.use_ema = setting.averages}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .run_eagerly = setting.eager,
                 .steps_per_execution = setting.steps_per_execution});
  Outcome outcome;
  outcome.history = model.fit(
      batches,
      {.epochs = kEpochs, .verbose = 0, .steps_per_epoch = setting.steps_per_epoch, .callbacks = std::move(callbacks)});
  outcome.state = state_of(model);
  return outcome;
}

// Counts batch hooks, and calls something at one of them, or at the end of an epoch.
class Watcher : public Callback {
 public:
  using Action = void (*)();
  Watcher(int& hooks, int stop_at_hook, std::int64_t stop_at_epoch, Action stop)
      : hooks_(hooks), stop_at_hook_(stop_at_hook), stop_at_epoch_(stop_at_epoch), stop_(stop) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    if (++hooks_ == stop_at_hook_) stop_();
  }
  void on_epoch_end(std::int64_t epoch, Logs&) override {
    if (epoch == stop_at_epoch_) stop_();
  }

 private:
  int& hooks_;
  int stop_at_hook_;
  std::int64_t stop_at_epoch_;
  Action stop_;
};

inline void power_cut() { throw std::runtime_error("the power is cut"); }

}  // namespace cohort::callbacks::small_run
