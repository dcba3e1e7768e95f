#pragma once

#include <functional>

#include "cohort/model/callback.h"

namespace cohort::callbacks {

// Functions to be called at the hooks of the same names; those left out cost nothing.
struct LambdaCallbackOptions {
  std::function<void(std::int64_t epoch)> on_epoch_begin = {};
  std::function<void(std::int64_t epoch, Logs& logs)> on_epoch_end = {};
  std::function<void()> on_train_begin = {};
  std::function<void(Logs& logs)> on_train_end = {};
  std::function<void(std::int64_t batch)> on_train_batch_begin = {};
  std::function<void(std::int64_t batch, Logs& logs)> on_train_batch_end = {};
};

// A callback made of functions.
class LambdaCallbackBody : public Callback {
 public:
  explicit LambdaCallbackBody(LambdaCallbackOptions options) : options_(std::move(options)) {}
  void on_epoch_begin(std::int64_t epoch) override {
    if (options_.on_epoch_begin) options_.on_epoch_begin(epoch);
  }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (options_.on_epoch_end) options_.on_epoch_end(epoch, logs);
  }
  void on_train_begin() override {
    if (options_.on_train_begin) options_.on_train_begin();
  }
  void on_train_end(Logs& logs) override {
    if (options_.on_train_end) options_.on_train_end(logs);
  }
  void on_train_batch_begin(std::int64_t batch) override {
    if (options_.on_train_batch_begin) options_.on_train_batch_begin(batch);
  }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    if (options_.on_train_batch_end) options_.on_train_batch_end(batch, logs);
  }
  BatchHooks batch_hooks() const override {
    return options_.on_train_batch_begin || options_.on_train_batch_end ? BatchHooks::Every : BatchHooks::None;
  }

 private:
  LambdaCallbackOptions options_;
};

struct LambdaCallback : Ref<LambdaCallbackBody> {
  explicit LambdaCallback(LambdaCallbackOptions options)
      : Ref(std::make_shared<LambdaCallbackBody>(std::move(options))) {}
};

}  // namespace cohort::callbacks
