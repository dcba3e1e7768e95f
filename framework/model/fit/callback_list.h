#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/model/fit/callback.h"
#include "cohort/model/fit/logs.h"

namespace cohort {

// Hands each hook to every callback, in order. Batch figures are read only when a callback looks at them.
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
  void preemption();
  // Whether somebody wants the hooks of every batch; if not, sample() is enough.
  bool wants_every_batch() const { return any_every_; }
  // The smallest number that a callback gives, 0 for none.
  std::int64_t batches_until_quiet() const;
  void batch_begin(Phase phase, std::int64_t batch);
  void batch_end(Phase phase, std::int64_t batch, LogsSource& figures);
  // The end of a batch for those who look now and then.
  void sample(Phase phase, std::int64_t batch, LogsSource& figures);

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
  void end_batch(Phase phase, std::int64_t batch, LogsSource& figures, bool every, bool sampled);

  std::vector<Entry> entries_;
  bool any_every_ = false, any_sampled_ = false;
  std::chrono::steady_clock::time_point last_sample_{};
  CallbackParams params_;
  Logs batch_logs_;
};

}  // namespace cohort
