#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/callbacks/projector.h"
#include "cohort/model/fit/callback.h"
#include "cohort/model/fit/run_figures.h"

namespace cohort {
class Timeline;
class TimelineScope;
}  // namespace cohort

namespace cohort::summary {
class EventWriter;
}

namespace cohort::callbacks {

// When TensorBoard writes scalars: "epoch", "batch", or every this many batches.
class UpdateFrequency {
 public:
  // "epoch" or "batch".
  UpdateFrequency(const char* name) : UpdateFrequency(std::string(name)) {}
  UpdateFrequency(const std::string& name);
  // Every this many batches, at least 1.
  UpdateFrequency(std::int64_t batches);
  // True for "epoch".
  bool each_epoch() const { return batches_ == 0; }
  // The number of batches; 0 for "epoch".
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

// The batches to profile, counted from 1: one, or from the first to the last; 0: none.
class ProfileBatch {
 public:
  // One batch; 0: none.
  ProfileBatch(std::int64_t batch) : ProfileBatch(batch, batch) {}
  // Batches from the first to the last, both included.
  ProfileBatch(std::int64_t first, std::int64_t last);
  // The first batch to profile.
  std::int64_t first() const { return first_; }
  // The last batch to profile; 0: none.
  std::int64_t last() const { return last_; }

 private:
  std::int64_t first_ = 0, last_ = 0;
};

struct TensorBoardOptions {
  // Folder of the event files.
  std::string log_dir = "logs";
  // Every this many epochs, histograms of the weights; 0: never.
  std::int64_t histogram_freq = 0;
  // Write the model's layers and the graph of its training step.
  bool write_graph = true;
  // Write weights as images, too, whenever histograms are written.
  bool write_images = false;
  // Write how many steps ran in a second, by epoch and by batch.
  bool write_steps_per_second = false;
  // When scalars are written: "epoch", "batch" or every this many batches; what is not "epoch" adds scalars of batches.
  UpdateFrequency update_freq = "epoch";
  // Batches to profile, counted from 1: a number or {first, last}; 0: none.
  ProfileBatch profile_batch = 0;
  // Every this many epochs, the weights for the projector's view of Embedding layers; 0: never.
  std::int64_t embeddings_freq = 0;
  // Path of a file of labels for all Embedding layers, or a path for each by its name; "": none.
  EmbeddingsMetadata embeddings_metadata = "";
};

class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(TensorBoardOptions options);
  ~TensorBoardCallback() override;

  void set_model(Model& model) override;
  void set_run(RunControl* run) override;
  void on_train_begin() override;
  void on_train_end(Logs& logs) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_test_begin() override;
  void on_test_end(Logs& logs) override;
  void on_test_batch_begin(std::int64_t batch) override;
  BatchHooks batch_hooks() const override;
  bool for_chief_only() const override { return true; }

 private:
  using Clock = std::chrono::steady_clock;
  // Made when first written to, as Keras does: a run that has nothing to show has no folder.
  summary::EventWriter& train_writer();
  summary::EventWriter& validation_writer();
  // Whether what is logged at this count of batches is kept.
  bool keeps(std::int64_t batches) const;
  std::int64_t iterations() const;
  void write_model();
  void write_train_graph();
  void write_epoch(std::int64_t epoch, const Logs& logs);
  void write_figures(const RunFigures& figures, const std::string& prefix, std::int64_t step);
  void write_weights(std::int64_t epoch);
  void write_rate();
  void stop_profile(bool shows_graph);

  TensorBoardOptions options_;
  std::unique_ptr<summary::EventWriter> train_, validation_;
  std::int64_t begun_batches_ = 0, train_batches_ = 0, test_batches_ = 0, iterations_before_epoch_ = 0;
  std::int64_t rate_batches_ = 0;  // since rate_since_
  bool training_ = false, train_graph_due_ = false;
  Clock::time_point rate_since_, epoch_began_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<TimelineScope> recording_;
};

// Logs what TensorBoard shows, under Keras's tags, in the runs <log_dir>/train and <log_dir>/validation: scalars of
// epochs (and batches), histograms and images of the weights, the model's layers and the graph of its training step.
// profile_batch records what fit did when into train/plugins/profile/<time>/<host>.trace.json, for chrome://tracing and
// Perfetto; TensorBoard itself shows the graph that ran, as batch_<n>, but not the times.
struct TensorBoard : Ref<TensorBoardCallback> {
  explicit TensorBoard(TensorBoardOptions options = {});
};

}  // namespace cohort::callbacks
