#pragma once

#include <vector>

#include "cohort/layers/core/dense.h"
#include "cohort/model/fit/callback.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"

namespace cohort::callbacks {

// A compiled model of one weight, and a way to take a callback through epochs of made-up figures.
class DrivenModel {
 public:
  DrivenModel() : model_({layers::Dense(1, {.use_bias = false})}) {
    model_.build({kUnknown, 1});
    model_.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"accuracy"}});
  }
  Sequential& model() { return model_; }

  // Ends where the callback stops the training.
  void drive(const Ref<Callback>& callback, const std::vector<Logs>& epochs) {
    model_.stop_training = false;
    callback->set_model(model_);
    callback->set_params({.epochs = static_cast<std::int64_t>(epochs.size()), .steps = 1});
    callback->on_train_begin();
    for (std::size_t i = 0; i < epochs.size() && !model_.stop_training; ++i) {
      const auto epoch = static_cast<std::int64_t>(i);
      Logs logs = epochs[i];
      callback->on_epoch_begin(epoch);
      callback->on_train_batch_end(0, logs);
      callback->on_epoch_end(epoch, logs);
    }
    Logs none;
    callback->on_train_end(none);
  }

 private:
  Sequential model_;
};

inline std::vector<Logs> val_losses(std::initializer_list<double> values) {
  std::vector<Logs> epochs;
  for (const double value : values) epochs.push_back({{"loss", 1.0}, {"val_loss", value}});
  return epochs;
}

}  // namespace cohort::callbacks
