#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/core/device.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/model/fit/runner_base.h"
#include "cohort/model/fit/strategy.h"

namespace cohort {

// Runs a program's steps in this process, one after the other, on the default device.
class LocalRunner : public RunnerBase {
 public:
  LocalRunner(std::shared_ptr<Program> program, const RunnerData& data, const RunnerOptions& options);

  void build() override;
  void begin_epoch(std::int64_t epoch) override;
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  void synchronize() override { device_->synchronize(); }
  bool measure(std::string_view name) override;
  std::optional<double> measured(std::string_view name) const override;
  DatasetStats data_stats() const override { return iterator_ ? iterator_->stats() : DatasetStats(); }

 private:
  void build_eagerly();
  std::int64_t cardinality() const override { return dataset_.cardinality(); }
  void begin_data(bool continues) override;
  std::string save_data() const override;
  void restore_data(const std::string& state) override;
  void rewind();
  bool next_batch(bool first_of_epoch);
  bool measured_next_batch(bool first_of_epoch);
  void run_batch(Execution& execution);
  // From the second execution on, where the device records: the first one loads and sets up what must not be recorded.
  void record_from_now(std::int64_t steps);

  Dataset dataset_;
  Device* device_;
  std::unique_ptr<DatasetIterator> iterator_;
  bool fresh_ = true;                // the iterator is before its first element
  const StepGraph* step_ = nullptr;  // the program's
  Tensors batch_, inputs_, outputs_;
  std::unique_ptr<RecordedSteps> recorded_;
  bool measures_examples_ = false, measures_waiting_ = false;
  std::int64_t examples_ = 0;  // of this epoch
  std::chrono::steady_clock::duration waiting_{};
};

}  // namespace cohort
