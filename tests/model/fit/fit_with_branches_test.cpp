#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/losses/losses.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"
#include "tests/support/stream_device.h"

namespace cohort {
namespace {

constexpr std::int64_t kBranchedRows = 90;

// Takes another way for each batch, and as many turns as the batch's sum asks for, at most four.
class Branched : public Layer {
 public:
  void build(const Shape& input) override {
    kernel_ = add_weight("kernel", {input.back(), input.back()}, {.initializer = "glorot_uniform"});
  }
  Tensor call(const Tensor& x, const CallContext&) override {
    const Tensor size = ops::sum(x);
    const Tensor kernel = kernel_.value();
    const Tensor first = ops::cond(
        ops::sin(size * 7.0) > 0.0, [&] { return Tensors{ops::tanh(ops::matmul(x, kernel))}; },
        [&] { return Tensors{x * ops::random_uniform({x.shape().back()}, 0, 1, DType::Float32, 5)}; })[0];
    return ops::while_loop([&](const Tensors& now) { return now[0] < ops::cos(size * 3.0) * 5.0; },
                           [&](const Tensors& now) {
                             return Tensors{now[0] + 1.0, ops::matmul(now[1], kernel)};
                           },
                           {Tensor::scalar(0), first}, {.maximum_iterations = 4})[1];
  }

 private:
  Variable kernel_;
};

Dataset branched_data() {
  std::vector<float> x(kBranchedRows * 3), y(kBranchedRows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 251) / 251 - 0.5f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 7) / 7;
  return datasets::from_tensor_slices(Tensor::of(x, {kBranchedRows, 3}, cpu()),
                                      Tensor::of(y, {kBranchedRows, 1}, cpu()));
}

std::vector<float> branched_weights(std::string_view device, std::int64_t steps) {
  const std::string before = default_device().name();
  set_default_device(device);
  set_random_seed(4);
  Sequential model({make<Branched>(), make<testing_models::Linear>(1, "glorot_uniform")});
  model.compile(
      {.optimizer = optimizers::Adam(1e-2), .loss = losses::MeanSquaredError(), .steps_per_execution = steps});
  model.fit(branched_data().shuffle(kBranchedRows).batch(6), {.epochs = 3, .verbose = 0});
  const std::vector<float> weights = testing_models::all_weights(model);
  set_default_device(before);
  return weights;
}

TEST(FitWithBranches, TrainsTheSameRecordedAndNot) {
  const std::vector<float> expected = branched_weights("CPU:0", 1);
  if (const std::string gpu = default_device().name(); gpu.starts_with("GPU")) {
    const std::vector<float> weights = branched_weights(gpu, 1);
    for (std::int64_t steps : {5, 15}) EXPECT_EQ(branched_weights(gpu, steps), weights) << steps;
    for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], expected[i], 1e-3) << i;
  }
  test::register_stream_device();
  for (std::int64_t steps : {1, 5, 15}) {
    EXPECT_EQ(branched_weights("STREAM:0", steps), expected) << steps;
    EXPECT_EQ(branched_weights("TEST:0", steps), expected) << steps;
  }
}

}  // namespace
}  // namespace cohort
