#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/callbacks/monitor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

// When ModelCheckpoint saves: "epoch", or after every this many batches.
class SaveFrequency {
 public:
  // "epoch".
  SaveFrequency(const char* name) : SaveFrequency(std::string(name)) {}
  SaveFrequency(const std::string& name);
  // After every this many batches, at least 1.
  SaveFrequency(std::int64_t batches);
  SaveFrequency(int batches) : SaveFrequency(std::int64_t{batches}) {}  // 0 could also be a text
  // True for "epoch".
  bool each_epoch() const { return batches_ == 0; }
  // The number of batches; 0 for "epoch".
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  int verbose = 0;
  // Save only when the monitored figure is the best so far.
  bool save_best_only = false;
  // Save the weights alone; the path then ends in .weights.h5, or as another format's of weights.
  bool save_weights_only = false;
  std::string mode = "auto";
  SaveFrequency save_freq = "epoch";
  // With save_best_only: value the figure must beat for the first save; none: any does.
  std::optional<double> initial_value_threshold = std::nullopt;
};

class ModelCheckpointCallback : public Callback {
 public:
  ModelCheckpointCallback(std::string filepath, ModelCheckpointOptions options);
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  bool for_chief_only() const override { return options_.save_freq.each_epoch(); }
  BatchHooks batch_hooks() const override {
    return options_.save_freq.each_epoch() ? BatchHooks::None : BatchHooks::Every;
  }
  std::int64_t batches_until_quiet() const override {
    return options_.save_freq.each_epoch() ? 0 : options_.save_freq.batches() - batches_since_saving_;
  }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;
  // The monitored figure of the last model that was saved as the best.
  std::optional<double> best() const { return best_; }

 private:
  bool due(const Logs& logs, const std::string& path);
  void save(std::optional<std::int64_t> batch, const Logs& logs);

  std::string filepath_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::int64_t epoch_ = 0, batches_since_saving_ = 0, last_batch_ = -1;
};

// Saves the model, or its weights, after epochs or batches.
//   filepath: a path that ends in .keras, .h5, .weights.h5 or as a registered format's; may have fields, filled in with
//     the counts (from 1) and the logs: {epoch:02d}, {batch}, {val_loss:.2f}.
struct ModelCheckpoint : Ref<ModelCheckpointCallback> {
  explicit ModelCheckpoint(std::string filepath, ModelCheckpointOptions options = {});
};

}  // namespace cohort::callbacks
