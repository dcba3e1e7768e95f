#pragma once

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct SwapEMAWeightsOptions {
  // Also between the end of an epoch and the beginning of the next: for callbacks like ModelCheckpoint behind this one.
  bool swap_on_epoch = false;
};

class SwapEMAWeightsCallback : public Callback {
 public:
  explicit SwapEMAWeightsCallback(SwapEMAWeightsOptions options = {}) : options_(options) {}
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(Logs& logs) override;
  void on_predict_begin() override;
  void on_predict_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override { return averages_in_model_ ? kAverages : ""; }
  void restore_state(std::string_view state) override { averages_in_model_ = state == kAverages; }

 private:
  static constexpr const char* kAverages = "averages in the model";
  void put_averages(bool into_model);

  SwapEMAWeightsOptions options_;
  bool averages_in_model_ = false;
};

// Puts the optimizer's averages of the weights (`use_ema`) into the model while it is evaluated or predicts, and the
// weights back afterwards.
struct SwapEMAWeights : Ref<SwapEMAWeightsCallback> {
  explicit SwapEMAWeights(SwapEMAWeightsOptions options = {});
};

}  // namespace cohort::callbacks
