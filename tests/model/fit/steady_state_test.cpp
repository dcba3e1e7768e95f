#include <gtest/gtest.h>

#include "cohort/metrics/metrics.h"
#include "cohort/model/fit/local_runner.h"
#include "cohort/model/fit/training.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"
#include "tests/support/allocations.h"

namespace cohort {
namespace {

using testing_models::Linear;

class Relu : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext&) override { return ops::relu(x); }
};

Dataset rows(std::int64_t count, std::int64_t width, std::int64_t targets) {
  return Dataset::make("tensor_slices", {},
                       {{"structure", "(**)"},
                        {"tensor_0", Tensor::full({count, width}, 0.5).to_host()},
                        {"tensor_1", Tensor::full({count, targets}, 1.0).to_host()}});
}

Dataset batches() { return rows(640, 10, 1).shuffle(640).batch(64).prefetch(4); }

Dataset mapped(const Dataset& data, std::int64_t calls) {
  return data.map([](Tensor x, Tensor y) { return std::tuple(x * 0.5, y); }, {.num_parallel_calls = calls});
}

struct FedInput {
  const char* name;
  Dataset (*make)();
};

const FedInput kInputs[] = {
    {"read_as_they_come", [] { return rows(640, 10, 1).shuffle(640).batch(64); }},
    {"prefetched", [] { return batches(); }},
    {"prefetched_far_ahead", [] { return rows(640, 10, 1).shuffle(640).batch(64).prefetch(50); }},
    // Dear enough to be read by the prefetching thread, and with kernels that spread over the pool.
    {"prefetched_by_a_thread", [] { return rows(1280, 784, 10).shuffle(1280).batch(128).prefetch(4); }},
    {"mapped", [] { return mapped(rows(640, 10, 1).shuffle(640).batch(64), 0); }},
    {"mapped_in_parallel", [] { return mapped(rows(1280, 784, 10).shuffle(1280).batch(128), 4).prefetch(4); }},
    {"mapped_one_by_one", [] { return mapped(rows(640, 10, 1).shuffle(640), 8).batch(64).prefetch(2); }},
};

class SteadyState : public testing::TestWithParam<FedInput> {
 protected:
  void SetUp() override {
    if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
    data_ = GetParam().make().repeat();
  }
  std::int64_t targets() const { return data_.element_spec()[1].leaf().shape[1]; }

  Dataset data_;
};

struct Net {
  explicit Net(Ref<Optimizer> optimizer, std::int64_t targets = 1, std::int64_t steps_per_execution = 1)
      : model({make<Linear>(64, "glorot_uniform"), make<Relu>(), make<Linear>(targets, "glorot_uniform")}) {
    model.compile({.optimizer = optimizer,
                   .loss = "mse",
                   .metrics = {"mae", metrics::MeanSquaredError({.name = "a_name_too_long_for_a_string_to_keep"})},
                   .steps_per_execution = steps_per_execution});
  }
  Sequential model;
};

// Executions until all is made that is made once: recordings are made in the second and the third, and batches while
// those that are read ahead are all under way.
constexpr int kWarmUp = 10;

void expect_no_allocations(const std::shared_ptr<Program>& program, const Dataset& data) {
  LocalRunner runner(program, {.dataset = data}, {.steps_per_epoch = 1000});
  runner.begin_epoch(0);
  for (int step = 0; step < kWarmUp; ++step) runner.run(step, 1);
  runner.synchronize();
  const std::uint64_t before = test::allocations();
  runner.run(kWarmUp, 9);
  runner.run(kWarmUp + 9, 90);
  runner.synchronize();
  EXPECT_EQ(test::allocations() - before, 0u);
}

TEST_P(SteadyState, ATrainStepAllocatesNothing) {
  Net net(optimizers::Adam(1e-3), targets());
  expect_no_allocations(net.model.training().program(Program::Kind::Train), data_);
}

TEST_P(SteadyState, ATestStepAllocatesNothing) {
  Net net(optimizers::SGD(0.1), targets());
  expect_no_allocations(net.model.training().program(Program::Kind::Test), data_);
}

// Counts what is allocated between the end of the warm-up and that of the last execution before the epoch's end.
class Watcher : public Callback {
 public:
  void on_train_batch_end(std::int64_t, Logs& logs) override {
    loss_ += logs["loss"];
    latest_ = test::allocations();
    if (++executions_ == kWarmUp) first_ = latest_;
  }
  std::uint64_t allocations() const { return latest_ - first_; }
  int executions() const { return executions_; }

 private:
  double loss_ = 0;
  int executions_ = 0;
  std::uint64_t first_ = 0, latest_ = 0;
};

TEST_P(SteadyState, FitAllocatesNothing) {
  for (const std::int64_t steps_per_execution : {1, 5}) {
    Net net(optimizers::Adam(1e-3), targets(), steps_per_execution);
    const auto watcher = std::make_shared<Watcher>();
    net.model.fit(data_, {.epochs = 1, .verbose = 0, .steps_per_epoch = 100, .callbacks = {Ref<Callback>(watcher)}});
    EXPECT_EQ(watcher->executions(), 100 / steps_per_execution);
    EXPECT_EQ(watcher->allocations(), 0u) << "steps_per_execution=" << steps_per_execution;
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, SteadyState, testing::ValuesIn(kInputs),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LocalRunner, APositionRestoresTheRun) {
  Net net(optimizers::Adam(1e-2));
  const std::shared_ptr<Program> program = net.model.training().program(Program::Kind::Train);
  const RunnerData data{.dataset = batches().repeat()};
  LocalRunner runner(program, data, {.steps_per_epoch = 20});
  runner.begin_epoch(0);
  runner.run(0, 7);
  const Position where = runner.position();
  const std::vector<Tensor> weights = net.model.get_weights();
  std::vector<Tensor> slots;
  for (const Variable& variable : net.model.optimizer()->variables()) slots.push_back(read_now(variable));
  runner.run(7, 5);
  const std::vector<float> expected = testing_models::all_weights(net.model);

  net.model.set_weights(weights);
  for (std::size_t i = 0; i < slots.size(); ++i) write_now(net.model.optimizer()->variables()[i], slots[i]);
  LocalRunner resumed(program, data, {.steps_per_epoch = 20});
  resumed.restore(where);
  resumed.run(where.step, 5);
  EXPECT_EQ(testing_models::all_weights(net.model), expected);
}

}  // namespace
}  // namespace cohort
