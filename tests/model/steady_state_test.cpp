#include <gtest/gtest.h>

#include "cohort/metrics/metrics.h"
#include "cohort/model/callback_list.h"
#include "cohort/model/local_runner.h"
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

Dataset batches() {
  const Dataset rows = Dataset::make("tensor_slices", {},
                                     {{"structure", "(**)"},
                                      {"tensor_0", Tensor::full({640, 10}, 0.5).to_host()},
                                      {"tensor_1", Tensor::full({640, 1}, 1.0).to_host()}});
  return rows.shuffle(640).batch(64).prefetch(4);
}

void expect_no_allocations(const std::shared_ptr<Program>& program, const Dataset& data = batches()) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  LocalRunner runner(program, {.dataset = data.repeat()}, {.steps_per_epoch = 1000});
  runner.begin_epoch(0);
  runner.run(0, 50);
  std::int64_t step = 50;
  EXPECT_TRUE(test::reaches_steady_state([&] {
    runner.run(step, 10);
    runner.run(step + 10, 90);
    step += 100;
  }));
}

struct Net {
  explicit Net(Ref<Optimizer> optimizer)
      : model({make<Linear>(16, "glorot_uniform"), make<Relu>(), make<Linear>(1, "glorot_uniform")}) {
    model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
  }
  Sequential model;
};

TEST(SteadyState, ATrainStepAllocatesNothing) {
  Net net(optimizers::Adam(1e-3));
  expect_no_allocations(net.model.train_program());
}

TEST(SteadyState, ATestStepAllocatesNothing) {
  Net net(optimizers::SGD(0.1));
  expect_no_allocations(net.model.test_program());
}

// Large enough that kernels spread over the pool and batches are made ahead by the prefetching thread.
TEST(SteadyState, ATrainStepOnSeveralThreadsAllocatesNothing) {
  Sequential model({make<Linear>(256, "glorot_uniform"), make<Relu>(), make<Linear>(10, "glorot_uniform")});
  model.compile({.optimizer = optimizers::Adam(1e-3), .loss = "mse", .metrics = {"mae"}});
  const Dataset rows = Dataset::make("tensor_slices", {},
                                     {{"structure", "(**)"},
                                      {"tensor_0", Tensor::full({1280, 784}, 0.5).to_host()},
                                      {"tensor_1", Tensor::full({1280, 10}, 1.0).to_host()}});
  expect_no_allocations(model.train_program(), rows.shuffle(1280).batch(128).prefetch(4));
}

class Watcher : public Callback {
 public:
  void on_train_batch_end(std::int64_t, Logs& logs) override { sum_ += logs["loss"]; }

 private:
  double sum_ = 0;
};

TEST(SteadyState, BatchHooksAllocateNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  Net net(optimizers::Adam(1e-3));
  net.model.compile({.optimizer = optimizers::Adam(1e-3),
                     .loss = "mse",
                     .metrics = {"mae", metrics::MeanSquaredError({.name = "a_name_too_long_for_a_string_to_keep"})}});
  CallbackList callbacks({make<Watcher>()}, net.model, {.steps = 1000});
  LocalRunner runner(net.model.train_program(), {.dataset = batches().repeat()}, {.steps_per_epoch = 1000});
  runner.begin_epoch(0);
  std::int64_t step = 0;
  EXPECT_TRUE(test::reaches_steady_state([&] {
    for (const std::int64_t end = step + 100; step < end; ++step) {
      callbacks.batch_begin(CallbackList::Phase::Train, step);
      callbacks.batch_end(CallbackList::Phase::Train, step, runner.run(step, 1));
    }
  }));
}

TEST(SteadyState, APositionRestoresTheRun) {
  Net net(optimizers::Adam(1e-2));
  const std::shared_ptr<Program> program = net.model.train_program();
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
