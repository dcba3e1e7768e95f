#pragma once

#include <functional>

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct LambdaCallbackOptions {
  // At the beginning of an epoch, counted from 0.
  std::function<void(std::int64_t epoch)> on_epoch_begin = {};
  // At the end of an epoch, with its figures, validation included.
  std::function<void(std::int64_t epoch, Logs& logs)> on_epoch_end = {};
  // At the beginning of fit.
  std::function<void()> on_train_begin = {};
  // At the end of fit, with the last epoch's figures.
  std::function<void(Logs& logs)> on_train_end = {};
  // Before a batch of training, counted from 0 in each epoch.
  std::function<void(std::int64_t batch)> on_train_batch_begin = {};
  // After a batch of training, with the running figures.
  std::function<void(std::int64_t batch, Logs& logs)> on_train_batch_end = {};
  // At the beginning of evaluate or of a validation.
  std::function<void()> on_test_begin = {};
  // At its end, with the figures.
  std::function<void(Logs& logs)> on_test_end = {};
  // Before a batch of it.
  std::function<void(std::int64_t batch)> on_test_batch_begin = {};
  // After a batch of it, with the running figures.
  std::function<void(std::int64_t batch, Logs& logs)> on_test_batch_end = {};
  // At the beginning of predict.
  std::function<void()> on_predict_begin = {};
  // At the end of predict.
  std::function<void(Logs& logs)> on_predict_end = {};
  // Before a batch of predict.
  std::function<void(std::int64_t batch)> on_predict_batch_begin = {};
  // After a batch of predict.
  std::function<void(std::int64_t batch, Logs& logs)> on_predict_batch_end = {};
};

class LambdaCallbackBody : public Callback {
 public:
  explicit LambdaCallbackBody(LambdaCallbackOptions options) : functions_(std::move(options)) {}

  void on_epoch_begin(std::int64_t epoch) override { call(functions_.on_epoch_begin, epoch); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override { call(functions_.on_epoch_end, epoch, logs); }
  void on_train_begin() override { call(functions_.on_train_begin); }
  void on_train_end(Logs& logs) override { call(functions_.on_train_end, logs); }
  void on_train_batch_begin(std::int64_t batch) override { call(functions_.on_train_batch_begin, batch); }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override { call(functions_.on_train_batch_end, batch, logs); }
  void on_test_begin() override { call(functions_.on_test_begin); }
  void on_test_end(Logs& logs) override { call(functions_.on_test_end, logs); }
  void on_test_batch_begin(std::int64_t batch) override { call(functions_.on_test_batch_begin, batch); }
  void on_test_batch_end(std::int64_t batch, Logs& logs) override { call(functions_.on_test_batch_end, batch, logs); }
  void on_predict_begin() override { call(functions_.on_predict_begin); }
  void on_predict_end(Logs& logs) override { call(functions_.on_predict_end, logs); }
  void on_predict_batch_begin(std::int64_t batch) override { call(functions_.on_predict_batch_begin, batch); }
  void on_predict_batch_end(std::int64_t batch, Logs& logs) override {
    call(functions_.on_predict_batch_end, batch, logs);
  }
  BatchHooks batch_hooks() const override {
    const LambdaCallbackOptions& f = functions_;
    const bool any = f.on_train_batch_begin || f.on_train_batch_end || f.on_test_batch_begin || f.on_test_batch_end ||
                     f.on_predict_batch_begin || f.on_predict_batch_end;
    return any ? BatchHooks::Every : BatchHooks::None;
  }

 private:
  template <class Function, class... Arguments>
  static void call(const Function& function, Arguments&... arguments) {
    if (function) function(arguments...);
  }

  LambdaCallbackOptions functions_;
};

// A callback made of functions, each called at the hook of its name; those left out cost nothing.
struct LambdaCallback : Ref<LambdaCallbackBody> {
  explicit LambdaCallback(LambdaCallbackOptions options)
      : Ref(std::make_shared<LambdaCallbackBody>(std::move(options))) {}
};

}  // namespace cohort::callbacks
