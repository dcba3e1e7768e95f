// Trainings whose executions are recorded and launched as one, on the device of --device=, held against the same
// training with every kernel begun on its own. A device that does not record compares a run with itself.
#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "cohort/callbacks/callbacks.h"
#include "cohort/core/random.h"
#include "cohort/core/timeline.h"
#include "cohort/datasets/datasets.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/model.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

constexpr std::int64_t kRunRows = 250, kRunBatch = 6, kRunEpochs = 3;
constexpr std::int64_t kRunSteps = 42;  // of an epoch; the last batch has 4 rows

using RunLayers = std::vector<Ref<Layer>>;

std::shared_ptr<Model> sequential_of(const RunLayers& layers) { return std::make_shared<Sequential>(layers); }

std::shared_ptr<Model> dense_run() {
  return sequential_of({layers::Dense(16, {.activation = "relu"}), layers::BatchNormalization(), layers::Dropout(0.2),
                        layers::Dense(4)});
}
std::shared_ptr<Model> convolution_run() {
  return sequential_of({layers::Conv2D(8, 3, {.padding = "same"}), layers::BatchNormalization(),
                        layers::Activation("relu"), layers::MaxPooling2D(2), layers::Dropout(0.1), layers::Flatten(),
                        layers::Dense(4)});
}
std::shared_ptr<Model> attention_run() {
  const SymbolicTensor input = Input({8, 16});
  const SymbolicTensor h = layers::LayerNormalization()(input);
  SymbolicTensor x = layers::Add()({input, layers::MultiHeadAttention(2, 8)(h, h, {.use_causal_mask = true})});
  x = layers::Dense(24, {.activation = "gelu"})(layers::LayerNormalization()(x));
  return std::make_shared<Model>(input, layers::Dense(4)(layers::GlobalAveragePooling1D()(layers::Dropout(0.1)(x))));
}
std::shared_ptr<Model> recurrent_run() { return sequential_of({layers::LSTM(8), layers::Dense(4)}); }

struct RunJob {
  const char* name;
  Shape features;
  std::shared_ptr<Model> (*make)();
  Ref<Optimizer> (*optimizer)();
  const char* policy = "float32";
  // One sample of this weight makes the gradients of its batch overflow, in whatever type they are.
  std::optional<float> overflowing_weight = std::nullopt;
};

std::ostream& operator<<(std::ostream& out, const RunJob& job) { return out << job.name; }

Ref<Optimizer> adam() { return optimizers::Adam(1e-2); }
Ref<Optimizer> momentum() { return optimizers::SGD(1e-2, {.momentum = 0.9, .nesterov = true}); }
Ref<Optimizer> adamw() { return optimizers::AdamW(1e-3); }
constexpr double kRunScale = 1024;  // small enough for all batches but one
Ref<Optimizer> scaled_adam() { return optimizers::LossScaleOptimizer(adam(), {.initial_scale = kRunScale}); }
Ref<Optimizer> rmsprop() { return optimizers::RMSprop(1e-3); }

const RunJob kRunJobs[] = {
    {"DenseAdam", {6}, dense_run, adam},
    {"DenseSgdMomentum", {6}, dense_run, momentum},
    {"ConvolutionSgdMomentum", {6, 6, 2}, convolution_run, momentum},
    {"RecurrentRmsprop", {5, 3}, recurrent_run, rmsprop},
    {"AttentionAdamW", {8, 16}, attention_run, adamw},
    {"DenseBfloat16", {6}, dense_run, adam, "mixed_bfloat16"},
    {"ConvolutionBfloat16", {6, 6, 2}, convolution_run, momentum, "mixed_bfloat16"},
    {"AttentionBfloat16", {8, 16}, attention_run, adamw, "mixed_bfloat16"},
    {"DenseFloat16", {6}, dense_run, scaled_adam, "mixed_float16", 1e36f},
};

Dataset run_data(const RunJob& job) {
  Shape shape = job.features;
  std::vector<float> x(static_cast<std::size_t>(kRunRows * shape.num_elements())), weights(kRunRows);
  std::vector<std::int32_t> labels(kRunRows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 251) / 251 - 0.25f;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int32_t>(i * i % 4);
    weights[i] = static_cast<float>(1 + i % 3) / 2;
  }
  if (job.overflowing_weight) weights[100] = *job.overflowing_weight;
  std::vector<std::int64_t> dimensions{kRunRows};
  for (int axis = 0; axis < shape.rank(); ++axis) dimensions.push_back(shape[axis]);
  return datasets::from_tensor_slices(Tensor::of(x, Shape(dimensions), cpu()), Tensor::of(labels, {kRunRows}, cpu()),
                                      Tensor::of(weights, {kRunRows}, cpu()))
      .shuffle(kRunRows)
      .batch(kRunBatch)
      .prefetch(2);
}

std::string bits_of(const Variables& variables) {
  std::string bits;
  for (const Variable& variable : variables) {
    const Tensor value = read_now(variable).to_host();
    bits.append(static_cast<const char*>(value.raw()), value.bytes());
  }
  return bits;
}

// A model that is not trained yet, as the same program makes it each time it is started.
std::shared_ptr<Model> fresh_run(const RunJob& job, std::int64_t steps_per_execution) {
  set_random_seed(7);
  mixed_precision::set_global_policy(job.policy);
  const std::shared_ptr<Model> model = job.make();
  mixed_precision::set_global_policy("float32");
  model->compile({.optimizer = job.optimizer(),
                  .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"},
                  .steps_per_execution = steps_per_execution});
  return model;
}

struct RunEnd {
  std::string weights, optimizer;
  std::vector<History::Series> history;
  bool operator==(const RunEnd&) const = default;
};

RunEnd end_of(const Model& model, const History& history) {
  return {bits_of(model.weights()), bits_of(model.optimizer()->variables()), history.history()};
}

RunEnd train_run(const RunJob& job, std::int64_t steps_per_execution, std::vector<Ref<Callback>> callbacks = {}) {
  const std::shared_ptr<Model> model = fresh_run(job, steps_per_execution);
  const History history =
      model->fit(run_data(job), {.epochs = kRunEpochs, .verbose = 0, .callbacks = std::move(callbacks)});
  return end_of(*model, history);
}

// While a thread has a timeline, nothing that it begins is recorded.
RunEnd train_unrecorded(const RunJob& job, std::int64_t steps_per_execution,
                        std::vector<Ref<Callback>> callbacks = {}) {
  Timeline timeline;
  const TimelineScope scope(timeline);
  return train_run(job, steps_per_execution, std::move(callbacks));
}

class RecordedRuns : public testing::TestWithParam<RunJob> {};

INSTANTIATE_TEST_SUITE_P(Jobs, RecordedRuns, testing::ValuesIn(kRunJobs),
                         [](const auto& info) { return std::string(info.param.name); });

// Otherwise the comparisons below would say nothing.
TEST_P(RecordedRuns, AreRecordedWhereTheDeviceCan) {
  const std::shared_ptr<Model> model = fresh_run(GetParam(), 1);
  const Dataset data = run_data(GetParam());
  const StepGraph& step = model->training().program(Program::Kind::Train)->step(data.element_spec());
  Tensors batch;
  ASSERT_TRUE(data.make_iterator()->next(batch));
  Device& device = default_device();
  Tensors inputs;
  Specs specs;
  for (const Tensor& leaf : batch) {
    inputs.push_back(leaf.to(device));
    specs.push_back(leaf.spec());
  }
  inputs.insert(inputs.end(), step.traced.captures.begin(), step.traced.captures.end());
  const auto recorded =
      RecordedSteps::make(step.executables->specialize(inputs, device), device, specs, step.traced.captures, 5);
  ASSERT_EQ(recorded != nullptr, device.can_record());
  if (!recorded) return;
  EXPECT_EQ(recorded->steps_per_launch(), 5);
  Tensors outputs;
  step.executables->run(inputs, outputs, {.seed = 1}, device);  // what a first run loads must not be recorded
  for (std::uint64_t i = 0; i < 20; ++i) recorded->add(batch, {.seed = 1, .step = i});
  device.synchronize();
  EXPECT_EQ(recorded->recordings(), 2);
}

TEST_P(RecordedRuns, HaveTheBitsOfUnrecordedOnesHoweverManyStepsAnExecutionHas) {
  const RunEnd expected = train_unrecorded(GetParam(), 1);
  EXPECT_GT(expected.weights.size(), 400u);
  ASSERT_EQ(expected.history.size(), 2u);
  for (std::int64_t steps : {1, 10, 37}) {  // the last execution of an epoch then has 1, 2 and 5 steps
    SCOPED_TRACE(steps);
    EXPECT_TRUE(train_run(GetParam(), steps) == expected);
  }
  EXPECT_TRUE(train_unrecorded(GetParam(), 10) == expected);
  RunJob other = GetParam();
  other.optimizer = [] { return Ref<Optimizer>(optimizers::Adam(2e-2)); };
  EXPECT_FALSE(train_run(other, 10).weights == expected.weights);
}

// Sets the learning rate and looks at the weights in the middle of an epoch; ends the program at a batch of the second
// epoch, if it is told to.
class RunMeddler : public Callback {
 public:
  RunMeddler(std::vector<std::string>& seen, std::int64_t ends_at) : seen_(seen), ends_at_(ends_at) {}
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (epoch_ == 0 && batch == 23) model().optimizer()->set_learning_rate(5e-3);
    if (batch % 12 == 11) seen_.push_back(std::to_string(epoch_) + bits_of(model().weights()));
    if (epoch_ == 1 && batch == ends_at_) throw std::runtime_error("the power fails");
  }

 private:
  std::vector<std::string>& seen_;
  const std::int64_t ends_at_;
  std::int64_t epoch_ = -1;
};

TEST_P(RecordedRuns, LetCallbacksSetTheLearningRateAndReadWeights) {
  std::vector<std::string> expected_weights;
  const RunEnd expected = train_unrecorded(GetParam(), 1, {make<RunMeddler>(expected_weights, -1)});
  ASSERT_EQ(expected_weights.size(), 3u * kRunEpochs);
  EXPECT_NE(expected.weights, train_run(GetParam(), 6).weights);  // without them
  for (std::int64_t steps : {1, 6, 12}) {
    SCOPED_TRACE(steps);
    std::vector<std::string> weights;
    EXPECT_TRUE(train_run(GetParam(), steps, {make<RunMeddler>(weights, -1)}) == expected);
    EXPECT_TRUE(weights == expected_weights);
  }
}

TEST_P(RecordedRuns, GoOnFromACheckpointOfTheMiddle) {
  for (std::int64_t steps : {1, 6}) {
    SCOPED_TRACE(steps);
    std::vector<std::string> expected_weights, before, after;
    const RunEnd expected = train_run(GetParam(), steps, {make<RunMeddler>(expected_weights, -1)});
    const test::TemporaryFolder folder;
    const auto resumable = [&](std::vector<std::string>& seen, std::int64_t ends_at) {
      return train_run(
          GetParam(), steps,
          {make<RunMeddler>(seen, ends_at), callbacks::BackupAndRestore(folder.file("backup"), {.save_freq = 18})});
    };
    EXPECT_THROW(resumable(before, 29), std::runtime_error);
    const RunEnd resumed = resumable(after, -1);
    EXPECT_TRUE(resumed.weights == expected.weights);
    EXPECT_TRUE(resumed.optimizer == expected.optimizer);
    // It begins in the second epoch, and ends as the run that was not cut off.
    ASSERT_LT(after.size(), expected_weights.size());
    ASSERT_FALSE(after.empty());
    EXPECT_EQ(after.front()[0], '1');
    EXPECT_TRUE(std::equal(after.rbegin(), after.rend(), expected_weights.rbegin()));
  }
}

TEST(RecordedLossScale, HalvesForTheOneStepThatOverflows) {
  const RunJob& job = kRunJobs[std::size(kRunJobs) - 1];
  ASSERT_TRUE(job.overflowing_weight);
  for (std::int64_t steps : {1, 10, 37}) {
    SCOPED_TRACE(steps);
    const std::shared_ptr<Model> model = fresh_run(job, steps);
    model->fit(run_data(job), {.epochs = kRunEpochs, .verbose = 0});
    const auto* scaling = dynamic_cast<const optimizers::LossScalingOptimizer*>(model->optimizer().get());
    ASSERT_NE(scaling, nullptr);
    EXPECT_EQ(scaling->dynamic_scale(), kRunScale / 8);  // once in each epoch
    EXPECT_EQ(read_now(scaling->iterations()).item<std::int64_t>(), kRunEpochs * (kRunSteps - 1));
  }
}

}  // namespace
}  // namespace cohort
