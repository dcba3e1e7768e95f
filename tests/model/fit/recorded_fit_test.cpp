#include <gtest/gtest.h>

#include "cohort/callbacks/callbacks.h"
#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/local_runner.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/load_model.h"
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

// Under a policy, for the models made while it stands.
class UnderPolicy {
 public:
  explicit UnderPolicy(const std::string& policy) { mixed_precision::set_global_policy(policy); }
  ~UnderPolicy() { mixed_precision::set_global_policy("float32"); }
};

// Goes back to the weights of earlier batches.
class ReturningCallback : public Callback {
 public:
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (batch == 11) kept_ = model().get_weights();
    if (batch == 23) model().set_weights(kept_);
  }

 private:
  std::vector<Tensor> kept_;
};

// The weights of a net trained in a half type.
std::vector<float> train_rounded(std::string_view device, const std::string& policy, Ref<Optimizer> optimizer,
                                 std::vector<Ref<Callback>> callbacks = {}) {
  const OnDevice there(device);
  const UnderPolicy rounded(policy);
  set_random_seed(7);
  RecordedNet model(4);
  model.compile({.optimizer = optimizer,
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .steps_per_execution = 4,
                 .auto_scale_loss = false});
  model.fit(recorded_data().batch(6), {.epochs = 2, .verbose = 0, .callbacks = std::move(callbacks)});
  return testing_models::all_weights(model);
}

TEST(RecordedFit, RoundsItsWeightsAsTheCpuDoes) {
  for (const char* policy : {"mixed_bfloat16", "mixed_float16"}) {
    const auto train = [&](const char* device, bool returns) {
      std::vector<Ref<Callback>> callbacks;
      if (returns) callbacks.push_back(make<ReturningCallback>());
      return train_rounded(device, policy, optimizers::Adam(1e-2), std::move(callbacks));
    };
    EXPECT_EQ(train("TEST:0", false), train("CPU:0", false)) << policy;
    EXPECT_EQ(train("TEST:0", true), train("CPU:0", true)) << policy;
    EXPECT_NE(train("TEST:0", true), train("TEST:0", false)) << policy;
  }
}

TEST(RecordedFit, SkipsStepsAsTheCpuDoes) {
  const auto train = [](const char* device) {
    const OnDevice there(device);
    const optimizers::LossScaleOptimizer optimizer(optimizers::Adam(1e-2), {.initial_scale = 1e9});
    auto weights = train_rounded(device, "mixed_float16", optimizer);
    EXPECT_LT(optimizer->dynamic_scale(), 1e9);  // some were
    return weights;
  };
  EXPECT_EQ(train("TEST:0"), train("CPU:0"));
}

TEST(RecordedFit, GoesOnRoundedFromItsFiles) {
  const std::string weights = testing::TempDir() + "recorded_fit.weights.h5";
  const std::string whole = testing::TempDir() + "recorded_fit.keras";
  const auto train = [&](const char* device) {
    const OnDevice there(device);
    const UnderPolicy rounded("mixed_bfloat16");
    set_random_seed(7);
    RecordedNet model(4);
    const Dataset data = recorded_data().batch(6);
    const auto fit = [&](Model& each) { each.fit(data, {.epochs = 1, .verbose = 0}); };
    fit(model);
    model.save_weights(weights, {.overwrite = true});
    model.save(whole, {.overwrite = true});
    const std::vector<float> saved = testing_models::all_weights(model);
    fit(model);
    EXPECT_NE(testing_models::all_weights(model), saved);
    model.load_weights(weights);
    EXPECT_EQ(testing_models::all_weights(model), saved);
    fit(model);
    const Ref<Model> loaded = load_model(whole);
    fit(*loaded);
    return std::pair(testing_models::all_weights(model), testing_models::all_weights(*loaded));
  };
  EXPECT_EQ(train("TEST:0"), train("CPU:0"));
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
