#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "cohort/model/fit/callback.h"

namespace cohort {

// Keras's progress display. With verbose 1 on a terminal one line is redrawn, with the time left and the figures; in a
// pipe, and with verbose 2, each epoch gets one plain line.
class ProgressBar : public Callback {
 public:
  // To standard output, or to `out` as if it were (not) a terminal.
  ProgressBar();
  ProgressBar(std::ostream& out, bool terminal);
  ~ProgressBar() override;

  void set_params(const CallbackParams& params) override;
  void on_train_begin() override { in_fit_ = true; }
  void on_train_end(Logs& logs) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(Logs& logs) override;
  void on_test_batch_end(std::int64_t batch, Logs& logs) override;
  void on_predict_begin() override;
  void on_predict_end(Logs& logs) override;
  void on_predict_batch_end(std::int64_t batch, Logs& logs) override;
  bool for_chief_only() const override { return true; }
  BatchHooks batch_hooks() const override { return terminal_ ? BatchHooks::Sampled : BatchHooks::None; }

 private:
  using Clock = std::chrono::steady_clock;
  void start();
  void update(std::int64_t done, const Logs& logs);
  void finish(const Logs& logs);
  double seconds_per_step(std::int64_t done, Clock::time_point now);
  void draw(std::int64_t done, const Logs& logs, bool last);
  void end_line();
  void print_line(std::int64_t done, const Logs& logs);

  std::ostream* out_;
  bool terminal_;
  int verbose_ = 1;
  std::int64_t epochs_ = 1;
  std::optional<std::int64_t> target_;
  bool in_fit_ = false;
  std::int64_t seen_ = 0;
  Clock::time_point started_, after_first_step_;
  std::int64_t first_steps_ = 0;  // batches done when after_first_step_ was taken
  std::size_t width_before_ = 0;
  bool in_line_ = false;  // the cursor stands behind a bar
};

// What verbose means when nothing is said: a bar on a terminal, else a line per epoch.
int default_verbosity();

}  // namespace cohort
