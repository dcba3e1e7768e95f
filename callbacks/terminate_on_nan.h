#pragma once

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct TerminateOnNaNOptions {
  // Throw an Error of code Aborted instead of ending fit quietly.
  bool raise_error = false;
};

class TerminateOnNaNCallback : public Callback {
 public:
  explicit TerminateOnNaNCallback(TerminateOnNaNOptions options = {}) : options_(options) {}
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;

 private:
  TerminateOnNaNOptions options_;
};

// Stops fit after a batch whose loss is not finite.
struct TerminateOnNaN : Ref<TerminateOnNaNCallback> {
  explicit TerminateOnNaN(TerminateOnNaNOptions options = {});
};

}  // namespace cohort::callbacks
