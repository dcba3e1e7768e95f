#pragma once

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct TerminateOnNaNOptions {
  bool raise_error = false;
};

// Stops fit at a loss that is not finite.
class TerminateOnNaNCallback : public Callback {
 public:
  explicit TerminateOnNaNCallback(TerminateOnNaNOptions options = {}) : options_(options) {}
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;

 private:
  TerminateOnNaNOptions options_;
};

struct TerminateOnNaN : Ref<TerminateOnNaNCallback> {
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {})
      : Ref(std::make_shared<TerminateOnNaNCallback>(options)) {}
};

}  // namespace cohort::callbacks
