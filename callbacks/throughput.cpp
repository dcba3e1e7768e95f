#include "cohort/callbacks/throughput.h"

#include <algorithm>
#include <cstdio>

#include "cohort/model/fit/run_control.h"

namespace cohort::callbacks {

void ThroughputCallback::on_train_begin() {
  run().measure("examples");
  run().measure("seconds_waiting_for_data");
}

void ThroughputCallback::on_epoch_begin(std::int64_t) {
  seconds_ = 0.0;
  before_ = run().data_stats();
  begin_ = Clock::now();
}

// Training has ended where validation begins.
void ThroughputCallback::on_test_begin() { note_end(); }

void ThroughputCallback::note_end() {
  constexpr double kLeast = 1e-9;
  if (seconds_ == 0.0) seconds_ = std::max(kLeast, std::chrono::duration<double>(Clock::now() - begin_).count());
}

void ThroughputCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  note_end();
  const double steps_per_second = run().measured("steps").value_or(0.0) / seconds_;
  logs.set("steps_per_second", steps_per_second);
  char text[160];
  int length =
      std::snprintf(text, sizeof text, "Epoch %lld: %.1f steps/s", static_cast<long long>(epoch + 1), steps_per_second);
  const auto append = [&](const char* pattern, double value) {
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), pattern, value);
  };
  if (const std::optional<double> examples = run().measured("examples")) {
    const double examples_per_second = *examples / seconds_;
    logs.set("examples_per_second", examples_per_second);
    append(", %.1f examples/s", examples_per_second);
  }
  if (const std::optional<double> waiting = run().measured("seconds_waiting_for_data")) {
    const double share = std::min(1.0, *waiting / seconds_);
    logs.set("data_wait", share);
    append(", %.1f %% of the time waiting for data", share * 100.0);
  }
  if (options_.verbose == 0) return;
  const std::string slowest = slowest_in_epoch();
  std::printf("%s%s\n", text, slowest.empty() ? "" : (", slowest stage: " + slowest).c_str());
}

std::string ThroughputCallback::slowest_in_epoch() const {
  DatasetStats stats = run().data_stats();
  // Stages do not change their places; the first epoch began without any.
  if (before_.size() == stats.size()) {
    for (std::size_t i = 0; i < stats.size(); ++i) stats[i].own_seconds -= before_[i].own_seconds;
  }
  const StageStats* slowest = slowest_stage(stats);
  return slowest ? slowest->stage : "";
}

Throughput::Throughput(ThroughputOptions options) : Ref(std::make_shared<ThroughputCallback>(options)) {}

}  // namespace cohort::callbacks
