#include "tests/faults/killed_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "cohort/callbacks/model_checkpoint.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/checkpoint.h"
#include "cohort/saving/checkpoint_state.h"
#include "cohort/saving/keras_archive.h"

namespace cohort::test {
namespace {

namespace fs = std::filesystem;

constexpr int kSamples = 120, kBatch = 8, kFeatures = 64, kClasses = 10;

Dataset run_samples(int first) {
  std::vector<float> x(kSamples * kFeatures);
  std::vector<std::int32_t> y(kSamples);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(first)) % 1000) / 500.0f - 1.0f;
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * i % kClasses);
  return datasets::from_tensor_slices(Tensor::of(x, {kSamples, kFeatures}), Tensor::of(y, {kSamples}));
}

std::unique_ptr<Model> make_run_model() {
  set_random_seed(11);
  auto model = std::make_unique<Sequential>(
      std::vector<Ref<Layer>>{layers::Dense(384, {.activation = "relu"}), layers::Dropout(0.2),
                              layers::Dense(384, {.activation = "relu"}), layers::Dense(kClasses)});
  model->compile({.optimizer = optimizers::Adam(optimizers::schedules::ExponentialDecay(3e-3, 10, 0.9)),
                  .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"},
                  .steps_per_execution = 3});
  return model;
}

void fit_run(Model& model, std::vector<Ref<Callback>> callbacks) {
  model.fit(run_samples(0).shuffle(60).batch(kBatch).prefetch(2), {.epochs = kRunEpochs,
                                                                   .verbose = 0,
                                                                   .validation_data = run_samples(1).batch(40),
                                                                   .callbacks = std::move(callbacks)});
}

std::uint64_t fingerprint(const Variables& variables) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Variable& variable : variables) {
    const Tensor value = read_now(variable).to_host();
    const std::string_view bytes(static_cast<const char*>(value.raw()), value.bytes());
    hash = hash_combine(hash, std::hash<std::string_view>{}(bytes));
  }
  return hash;
}

std::uint64_t fingerprint_of_all(const Model& model) {
  Variables variables = model.weights();
  const Variables& optimizer = model.optimizer()->variables();
  variables.insert(variables.end(), optimizer.begin(), optimizer.end());
  return fingerprint(variables);
}

// Says what comes after it in the list of callbacks.
class PhaseMarker : public Callback {
 public:
  PhaseMarker(RunReport& report, RunPhase phase) : report_(report), phase_(phase) {}
  void on_train_batch_end(std::int64_t, Logs&) override { report_.phase = phase_; }
  void on_epoch_end(std::int64_t, Logs&) override { report_.phase = phase_; }

 protected:
  RunReport& report_;
  const RunPhase phase_;
};

class LastMarker : public PhaseMarker {
 public:
  explicit LastMarker(RunReport& report) : PhaseMarker(report, RunPhase::Training) {}
  void on_train_begin() override {
    const Position position = run().position();
    report_.resumed_at = place_of(position.epoch, position.step);
    report_.phase = RunPhase::Training;
  }
  void on_test_begin() override { report_.phase = RunPhase::Validating; }
  void on_test_end(Logs&) override { report_.phase = RunPhase::Training; }
  void on_train_end(Logs&) override { report_.phase = RunPhase::Ending; }
};

// Notes the weights of every place.
class Recorder : public Callback {
 public:
  explicit Recorder(std::map<std::int64_t, std::uint64_t>& weights) : weights_(weights) {}
  void on_epoch_begin(std::int64_t epoch) override { note(epoch_ = epoch, 0); }
  void on_train_batch_end(std::int64_t batch, Logs&) override { note(epoch_, batch + 1); }
  void on_epoch_end(std::int64_t epoch, Logs&) override { note(epoch + 1, 0); }

 private:
  void note(std::int64_t epoch, std::int64_t step) { weights_[place_of(epoch, step)] = fingerprint(model().weights()); }
  std::map<std::int64_t, std::uint64_t>& weights_;
  std::int64_t epoch_ = 0;
};

void expect_weights(const Model& model, std::int64_t place, const UnbrokenRun& truth, const fs::path& file) {
  const auto found = truth.weights.find(place);
  ASSERT_NE(found, truth.weights.end()) << file << ": no such place in the run: " << place;
  EXPECT_EQ(fingerprint(model.weights()), found->second) << file;
}

bool is_unfinished(const fs::path& file) { return file.filename().string().find(".tmp.") != std::string::npos; }

// All that are there must be whole; the newest one's place.
std::int64_t check_backups(const fs::path& folder, const UnbrokenRun& truth) {
  std::int64_t place = 0;
  for (const std::string& name : checkpoints_in(folder.string())) {
    Checkpoint checkpoint({.model = truth.model.get()});
    const RestoredCheckpoint restored = checkpoint.read((folder / name).string());
    place = place_of(restored.position->epoch, restored.position->step);
    expect_weights(*truth.model, place, truth, folder / name);
  }
  return place;
}

}  // namespace

const char* to_string(RunPhase phase) {
  switch (phase) {
    case RunPhase::Starting:
      return "starting";
    case RunPhase::Training:
      return "training";
    case RunPhase::Validating:
      return "validating";
    case RunPhase::BackingUp:
      return "writing the backup";
    case RunPhase::SavingModel:
      return "writing .keras";
    case RunPhase::SavingWeights:
      return "writing .weights.h5";
    default:
      return "ending";
  }
}

std::uint64_t killed_run(const KilledRunSetting& setting, const std::string& folder, RunReport& report) {
  const std::unique_ptr<Model> model = make_run_model();
  const fs::path files = fs::path(folder) / "files";
  fit_run(*model, {make<PhaseMarker>(report, RunPhase::SavingModel),
                   callbacks::ModelCheckpoint((files / "{epoch:02d}.keras").string()),
                   make<PhaseMarker>(report, RunPhase::SavingWeights),
                   callbacks::ModelCheckpoint((files / "{epoch:02d}-{batch:03d}.weights.h5").string(),
                                              {.save_weights_only = true, .save_freq = setting.save_weights_every}),
                   make<PhaseMarker>(report, RunPhase::BackingUp),
                   callbacks::BackupAndRestore((fs::path(folder) / "backup").string(), setting.backup),
                   make<LastMarker>(report)});
  return fingerprint_of_all(*model);
}

UnbrokenRun unbroken_run() {
  UnbrokenRun run;
  run.model = make_run_model();
  fit_run(*run.model, {make<Recorder>(run.weights)});
  run.end = fingerprint_of_all(*run.model);
  return run;
}

std::int64_t check_files(const std::string& folder, const UnbrokenRun& truth) {
  Model& model = *truth.model;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& file = entry.path();
    const std::string name = file.filename().string();
    if (!entry.is_regular_file() || is_unfinished(file)) continue;
    SCOPED_TRACE(name);
    if (file.extension() == ".keras") {
      expect_weights(*load_model(file.string()), place_of(std::stoll(name), 0), truth, file);
    } else if (name.ends_with(".weights.h5")) {
      model.load_weights(file.string());
      expect_weights(model, place_of(std::stoll(name) - 1, std::stoll(name.substr(3))), truth, file);
    }
  }
  return check_backups(fs::path(folder) / "backup", truth);
}

int unfinished_files(const std::string& folder) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    count += is_unfinished(entry.path());
  return count;
}

}  // namespace cohort::test
