#include <gtest/gtest.h>

#include "cohort/callbacks/callbacks.h"
#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/local_runner.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

// The default device, for a while.
class OnDevice {
 public:
  explicit OnDevice(std::string_view device) : before_(default_device().name()) { set_default_device(device); }
  ~OnDevice() { set_default_device(before_); }

 private:
  const std::string before_;
};

constexpr std::int64_t kRowsOfData = 250;

Dataset recorded_data() {
  std::vector<float> x(kRowsOfData * 6);
  std::vector<std::int32_t> labels(kRowsOfData);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 251) / 251;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 4);
  return datasets::from_tensor_slices(Tensor::of(x, {kRowsOfData, 6}, cpu()), Tensor::of(labels, {kRowsOfData}, cpu()));
}

struct RecordedNet : Sequential {
  explicit RecordedNet(std::int64_t steps_per_execution)
      : Sequential({layers::Dense(16, {.activation = "relu"}), layers::BatchNormalization(), layers::Dropout(0.2),
                    layers::Dense(4)}) {
    compile({.optimizer = optimizers::Adam(1e-2),
             .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
             .metrics = {"accuracy"},
             .steps_per_execution = steps_per_execution});
  }
};

struct TrainedNet {
  std::vector<float> weights;
  std::vector<double> losses, accuracies;
  bool operator==(const TrainedNet&) const = default;
};

// Changes the learning rate, looks at the weights and sets them, in the middle of an epoch.
class MeddlingCallback : public Callback {
 public:
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (batch == 11) model().optimizer()->set_learning_rate(5e-3);
    if (batch % 12 == 11) {
      std::vector<Tensor> weights = model().get_weights();
      model().set_weights(weights);
      kept_.push_back(std::move(weights));
    }
  }

 private:
  std::vector<std::vector<Tensor>> kept_;
};

TrainedNet train_on(std::string_view device, std::int64_t steps_per_execution, bool meddle = false) {
  const OnDevice there(device);
  set_random_seed(7);
  RecordedNet model(steps_per_execution);
  std::vector<Ref<Callback>> callbacks;
  if (meddle) callbacks.push_back(make<MeddlingCallback>());
  // 42 batches, the last of them of 4 rows.
  const History history =
      model.fit(recorded_data().shuffle(kRowsOfData).batch(6),
                {.epochs = 3, .verbose = 0, .validation_data = recorded_data().batch(50), .callbacks = callbacks});
  return {testing_models::all_weights(model), history["loss"], history["val_accuracy"]};
}

TEST(RecordedFit, TrainsAsTheCpuDoesHoweverManyStepsALaunchHolds) {
  const TrainedNet expected = train_on("CPU:0", 1);
  for (std::int64_t steps : {1, 2, 10, 37, 100}) {
    EXPECT_EQ(train_on("CPU:0", steps), expected) << steps;
    EXPECT_EQ(train_on("TEST:0", steps), expected) << steps;
  }
}

TEST(RecordedFit, LetsCallbacksChangeWhatItWorksWith) {
  for (std::int64_t steps : {1, 6, 12})
    EXPECT_EQ(train_on("TEST:0", steps, true), train_on("CPU:0", steps, true)) << steps;
}

TEST(RecordedFit, StopsAndGoesOnInTheMiddle) {
  const OnDevice there("TEST:0");
  auto run = [](bool stops) {
    set_random_seed(7);
    RecordedNet model(4);
    const std::shared_ptr<Program> program = model.training().program(Program::Kind::Train);
    const RunnerData source{.dataset = recorded_data().shuffle(kRowsOfData).batch(6).repeat()};
    LocalRunner runner(program, source, {.steps_per_epoch = 100});
    runner.begin_epoch(0);
    for (int step = 0; step < 20; step += 4) runner.run(step, 4);
    if (!stops) {
      for (int step = 20; step < 60; step += 4) runner.run(step, 4);
      return testing_models::all_weights(model);
    }
    const Position where = runner.position();
    LocalRunner resumed(program, source, {.steps_per_epoch = 100});
    resumed.restore(where);
    for (int step = 20; step < 60; step += 4) resumed.run(step, 4);
    return testing_models::all_weights(model);
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace cohort
