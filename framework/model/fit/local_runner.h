#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/core/device.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/model/fit/runner_base.h"
#include "cohort/model/fit/strategy.h"

namespace cohort {

// Runs a program's steps in this process, one after the other, on one device.
class LocalRunner : public RunnerBase {
 public:
  LocalRunner(std::shared_ptr<Program> program, const RunnerData& data, const RunnerOptions& options,
              Device& device = default_device(), const InputContext& context = {});

  void build() override;
  void begin_epoch(std::int64_t epoch) override;
  Execution run(std::int64_t first_step, std::int64_t steps) override;
  void synchronize() override { device_->synchronize(); }
  bool measure(std::string_view name) override;
  std::optional<double> measured(std::string_view name) const override;
  DatasetStats data_stats() const override { return iterator_ ? iterator_->stats() : DatasetStats(); }

 protected:
  // Runs the step on the batch that was read.
  virtual void run_batch(Execution& execution);
  // Whether there is a step for what was read, or for nothing at the end of the data; where others take part in steps,
  // they may have a batch.
  virtual bool agree_on_step(bool found) { return found; }
  // Reads the next batch into batch_; false at the end of the data.
  bool next_batch(bool first_of_epoch);
  // What a derived runner saves behind the data's position, and the reverse; what was saved by another kind of runner
  // may come, too.
  virtual std::string own_state() const { return {}; }
  virtual void restore_own_state(std::string_view) {}
  // Stands before the first element of the next pass.
  virtual void rewind();

  Dataset dataset_;
  Device* device_;
  Tensors batch_;
  std::unique_ptr<DatasetIterator> iterator_;
  bool fresh_ = true;          // the iterator is before its first element
  bool rewinds_alone_ = true;  // an epoch that finds no batch may begin another pass without asking

 private:
  void build_eagerly();
  std::int64_t cardinality() const override { return dataset_.cardinality(); }
  void begin_data(bool continues) override;
  std::string save_data() const override;
  void restore_data(const std::string& state) override;
  bool measured_next_batch(bool first_of_epoch);
  // From the second execution on, where the device records: the first one loads and sets up what must not be recorded.
  void record_from_now(std::int64_t steps);

  const StepGraph* step_ = nullptr;  // the program's
  Tensors inputs_, outputs_;
  std::unique_ptr<RecordedSteps> recorded_;
  bool measures_examples_ = false, measures_waiting_ = false;
  std::int64_t examples_ = 0;  // of this epoch
  std::chrono::steady_clock::duration waiting_{};
};

}  // namespace cohort
