#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/model/fit/callback.h"
#include "cohort/model/fit/step_runner.h"

namespace cohort {

// Hands each hook to every callback, in order. Batch figures are read only when a callback wants them.
class CallbackList {
 public:
  enum class Phase { Train, Test, Predict };

  CallbackList(std::vector<Ref<Callback>> callbacks, Model& model, const CallbackParams& params);
  ~CallbackList();
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  // Gives the callbacks the run, until this list ends.
  void set_run(RunControl& run);
  bool needs_built_model() const;
  // What the callbacks have gathered, and back to those of the same kinds, in order; others begin with nothing.
  std::string save_states() const;
  void restore_states(std::string_view states);
  // Tells how many batches an epoch has, where that was not known before.
  void set_steps(std::int64_t steps);
  void train_begin();
  void train_end(Logs& logs);
  void epoch_begin(std::int64_t epoch);
  void epoch_end(std::int64_t epoch, Logs& logs);
  void test_begin();
  void test_end(Logs& logs);
  void predict_begin();
  void predict_end(Logs& logs);
  void batch_begin(Phase phase, std::int64_t batch);
  void batch_end(Phase phase, std::int64_t batch, const Execution& execution);

 private:
  struct Entry {
    Ref<Callback> callback;
    BatchHooks hooks;
  };
  template <class Hook>
  void each(const Hook& hook);
  template <class Hook>
  void call(Entry& entry, const Hook& hook);
  bool sample_due();

  std::vector<Entry> entries_;
  bool any_every_ = false, any_without_logs_ = false, any_sampled_ = false;
  std::chrono::steady_clock::time_point last_sample_{};
  CallbackParams params_;
  Logs batch_logs_;
};

}  // namespace cohort
