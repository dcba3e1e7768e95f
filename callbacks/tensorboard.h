#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cohort/model/callback.h"

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

struct TensorBoardOptions {
  std::string log_dir = "logs";
  std::int64_t histogram_freq = 0;
  bool write_graph = true;
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";
};

// Logs what TensorBoard shows, under Keras's tags: scalars of epochs (and batches), histograms of the weights, in the
// runs <log_dir>/train and <log_dir>/validation.
class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(TensorBoardOptions options);
  ~TensorBoardCallback() override;

  void set_model(Model& model) override;
  void on_train_begin() override;
  void on_train_end(Logs& logs) override;
  void on_epoch_begin(std::int64_t epoch) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_test_end(Logs& logs) override;
  void on_test_batch_begin(std::int64_t batch) override;
  BatchHooks batch_hooks() const override;

 private:
  using Clock = std::chrono::steady_clock;
  // Whether what is logged at this count of batches is kept.
  bool keeps(std::int64_t batches) const;
  std::int64_t iterations() const;

  TensorBoardOptions options_;
  std::unique_ptr<summary::EventWriter> train_, validation_;
  std::int64_t train_batches_ = 0, test_batches_ = 0, iterations_before_epoch_ = 0;
  bool training_ = false;
  Clock::time_point batch_began_, epoch_began_;
};

struct TensorBoard : Ref<TensorBoardCallback> {
  explicit TensorBoard(TensorBoardOptions options = {})
      : Ref(std::make_shared<TensorBoardCallback>(std::move(options))) {}
};

}  // namespace cohort::callbacks
