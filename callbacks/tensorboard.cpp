#include "cohort/callbacks/tensorboard.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/model/model.h"
#include "cohort/saving/model_json.h"
#include "cohort/summary/event_writer.h"

namespace cohort::callbacks {

UpdateFrequency::UpdateFrequency(const std::string& name) : batches_(name == "batch" ? 1 : 0) {
  if (name != "batch" && name != "epoch") {
    throw invalid_argument("TensorBoard", "update_freq must be 'epoch', 'batch' or a number of batches",
                           {{"update_freq", "'" + name + "'"}});
  }
}
UpdateFrequency::UpdateFrequency(std::int64_t batches) : batches_(batches) {
  if (batches < 1) {
    throw invalid_argument("TensorBoard", "update_freq must be 'epoch', 'batch' or a number of batches",
                           {{"update_freq", batches}});
  }
}

TensorBoardCallback::TensorBoardCallback(TensorBoardOptions options) : options_(std::move(options)) {
  const std::filesystem::path folder = options_.log_dir;
  train_ = std::make_unique<summary::EventWriter>((folder / "train").string());
  validation_ = std::make_unique<summary::EventWriter>((folder / "validation").string());
}
TensorBoardCallback::~TensorBoardCallback() = default;

bool TensorBoardCallback::keeps(std::int64_t batches) const {
  return options_.update_freq.each_epoch() || batches % options_.update_freq.batches() == 0;
}

std::int64_t TensorBoardCallback::iterations() const {
  return read_now(model().optimizer()->iterations()).item<std::int64_t>();
}

BatchHooks TensorBoardCallback::batch_hooks() const {
  return options_.update_freq.each_epoch() && !options_.write_steps_per_second ? BatchHooks::None : BatchHooks::Every;
}

void TensorBoardCallback::set_model(Model& model) {
  Callback::set_model(model);
  if (!options_.write_graph) return;
  try {
    train_->add_keras_model("keras", model_to_json(model), 0);
  } catch (const Error& error) {
    // A model without a config (computed in code) trains all the same.
    log::warn(std::string("TensorBoard: no model graph is written. ") + error.what());
  }
}

void TensorBoardCallback::on_train_begin() {
  training_ = true;
  train_batches_ = iterations_before_epoch_ = 0;
}

void TensorBoardCallback::on_train_end(Logs&) {
  training_ = false;
  train_->close();
  validation_->close();
}

void TensorBoardCallback::on_epoch_begin(std::int64_t) {
  if (!options_.write_steps_per_second) return;
  iterations_before_epoch_ = iterations();
  epoch_began_ = Clock::now();
}

void TensorBoardCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (!keeps(train_batches_)) return;
  for (const auto& [name, value] : logs) {
    if (!name.starts_with("val_") && name != "learning_rate") train_->add_scalar("epoch_" + name, value, epoch);
  }
  train_->add_scalar("epoch_learning_rate", model().optimizer()->learning_rate(), epoch);
  if (options_.write_steps_per_second) {
    const double seconds = std::chrono::duration<double>(Clock::now() - epoch_began_).count();
    train_->add_scalar("epoch_steps_per_second", static_cast<double>(iterations() - iterations_before_epoch_) / seconds,
                       epoch);
  }
  for (const auto& [name, value] : logs) {
    if (name.starts_with("val_")) validation_->add_scalar("epoch_" + name.substr(4), value, epoch);
  }
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) {
    for (const Ref<Layer>& layer : model().layers()) {
      for (const Variable& weight : layer->weights()) {
        train_->add_histogram(weight.path() + "/histogram", read_now(weight), epoch);
      }
    }
  }
  // An epoch is what a person waits for: it is shown at once.
  train_->flush();
  validation_->flush();
}

void TensorBoardCallback::on_train_batch_begin(std::int64_t) {
  ++train_batches_;
  if (options_.write_steps_per_second) batch_began_ = Clock::now();
}

void TensorBoardCallback::on_train_batch_end(std::int64_t, Logs& logs) {
  if (options_.update_freq.each_epoch() || !keeps(train_batches_)) return;
  if (options_.write_steps_per_second) {
    const double seconds = std::chrono::duration<double>(Clock::now() - batch_began_).count();
    train_->add_scalar("batch_steps_per_second", 1.0 / seconds, train_batches_);
  }
  for (const auto& [name, value] : logs) train_->add_scalar("batch_" + name, value, train_batches_);
}

void TensorBoardCallback::on_test_batch_begin(std::int64_t) { ++test_batches_; }

void TensorBoardCallback::on_test_end(Logs& logs) {
  if (keeps(test_batches_) && model().optimizer()) {
    const std::int64_t step = iterations();
    for (const auto& [name, value] : logs)
      validation_->add_scalar("evaluation_" + name + "_vs_iterations", value, step);
  }
  // An evaluation of its own has no end of training to close the file.
  if (!training_) validation_->flush();
}

}  // namespace cohort::callbacks
