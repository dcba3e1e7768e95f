#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/callbacks/projector.h"
#include "cohort/model/fit/callback.h"

namespace cohort {
class Timeline;
class TimelineScope;
}  // namespace cohort

namespace cohort::summary {
class EventWriter;
}

namespace cohort::callbacks {

// "epoch", "batch", or every so many batches.
class UpdateFrequency {
 public:
  UpdateFrequency(const char* name) : UpdateFrequency(std::string(name)) {}
  UpdateFrequency(const std::string& name);
  UpdateFrequency(std::int64_t batches);
  bool each_epoch() const { return batches_ == 0; }
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

// The batches to profile, counted from 1: one, or from the first to the last; 0: none.
class ProfileBatch {
 public:
  ProfileBatch(std::int64_t batch) : ProfileBatch(batch, batch) {}
  ProfileBatch(std::int64_t first, std::int64_t last);
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }

 private:
  std::int64_t first_ = 0, last_ = 0;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  std::int64_t histogram_freq = 0;
  bool write_graph = true;
  bool write_images = false;
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";
  ProfileBatch profile_batch = 0;
  std::int64_t embeddings_freq = 0;
  EmbeddingsMetadata embeddings_metadata = "";
};

// Logs what TensorBoard shows, under Keras's tags, in the runs <log_dir>/train and <log_dir>/validation: scalars of
// epochs (and batches), histograms and images of the weights, the model's layers and the graph of its training step.
// profile_batch records what fit did when into train/plugins/profile/<time>/<host>.trace.json, for chrome://tracing and
// Perfetto; TensorBoard itself shows the graph that ran, as batch_<n>, but not the times.
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
  void write_weights(std::int64_t epoch);
  void stop_profile(bool shows_graph);

  TensorBoardOptions options_;
  std::unique_ptr<summary::EventWriter> train_, validation_;
  std::int64_t train_batches_ = 0, test_batches_ = 0, iterations_before_epoch_ = 0;
  bool training_ = false, train_graph_due_ = false;
  Clock::time_point batch_began_, epoch_began_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<TimelineScope> recording_;
};

struct TensorBoard : Ref<TensorBoardCallback> {
  explicit TensorBoard(TensorBoardOptions options = {})
      : Ref(std::make_shared<TensorBoardCallback>(std::move(options))) {}
};

}  // namespace cohort::callbacks
