// Checkpoints: a CheckpointManager in a loop of one's own, ModelCheckpoint and BackupAndRestore in fit.
#include <cohort/cohort.h>

#include <algorithm>
#include <filesystem>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

std::unique_ptr<ch::Sequential> make_model() {
  ch::set_random_seed(16);
  auto model = std::make_unique<ch::Sequential>(std::vector<ch::Ref<ch::Layer>>{
      ch::make<ch::InputLayer>(ch::Shape{3}), ch::layers::Dense(8, {.activation = "tanh"}), ch::layers::Dense(1)});
  model->compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  return model;
}

bool equal(const ch::Tensor& a, const ch::Tensor& b) { return ops::all(ops::equal(a, b)).item<bool>(); }

int main() {
  for (const char* folder : {"checkpoints", "backup"}) std::filesystem::remove_all(folder);
  auto model = make_model();
  const ch::Tensor x = ops::random_normal({64, 3});
  const ch::Tensor y = ops::sum(x, -1, ops::keep_dims);

  // By hand: the last two of four are kept, and a new model goes on from the newest.
  ch::Variable epoch(ch::Tensor::scalar(0, ch::DType::Int64),
                     {.name = "epoch", .trainable = false, .dtype = ch::DType::Int64});
  ch::Checkpoint checkpoint({.model = model.get(), .variables = {{"epoch", epoch}}});
  ch::CheckpointManager manager(checkpoint, "checkpoints", {.max_to_keep = 2});
  check(!manager.restore_or_initialize(), "there is nothing to restore yet");
  for (int i = 0; i < 4; ++i) {
    model->train_on_batch(x, y);
    epoch.assign_add(ch::Tensor::scalar(1, ch::DType::Int64));
    manager.save();
  }
  check(manager.checkpoints().size() == 2, "two checkpoints are kept");
  auto restored = make_model();
  ch::Variable restored_epoch(ch::Tensor::scalar(0, ch::DType::Int64),
                              {.name = "epoch", .trainable = false, .dtype = ch::DType::Int64});
  ch::Checkpoint reader({.model = restored.get(), .variables = {{"epoch", restored_epoch}}});
  reader.restore(*ch::latest_checkpoint("checkpoints"));
  check(restored_epoch.value().item<std::int64_t>() == 4, "the variable is restored");
  model->train_on_batch(x, y);
  restored->train_on_batch(x, y);
  check(equal((*model)(x), (*restored)(x)), "weights and Adam's moments are: the next step is the same");

  // In fit: stopped by an error in epoch 3 of 6, started again, it ends where an undisturbed run does.
  auto whole = make_model();
  whole->fit(x, y, {.epochs = 6, .verbose = 0});
  auto broken = make_model();
  auto fail = ch::callbacks::LambdaCallback({.on_epoch_begin = [](std::int64_t e) {
    if (e == 3) throw std::runtime_error("power cut");
  }});
  try {
    broken->fit(x, y, {.epochs = 6, .verbose = 0, .callbacks = {fail, ch::callbacks::BackupAndRestore("backup")}});
    check(false, "the run is cut off");
  } catch (const std::runtime_error&) {
  }
  auto resumed = make_model();
  const ch::History rest =
      resumed->fit(x, y, {.epochs = 6, .verbose = 0, .callbacks = {ch::callbacks::BackupAndRestore("backup")}});
  check(rest.epoch().front() == 3, "it goes on with epoch 3");
  check(equal((*whole)(x), (*resumed)(x)), "and ends with the same weights");

  const ch::callbacks::ModelCheckpoint best("best.keras", {.monitor = "loss", .save_best_only = true});
  const ch::History history = resumed->fit(x, y, {.epochs = 5, .verbose = 0, .callbacks = {best}});
  check(best->best() == *std::min_element(history["loss"].begin(), history["loss"].end()), "the best epoch was saved");
  check(std::filesystem::exists("best.keras"), "in its file");
}
