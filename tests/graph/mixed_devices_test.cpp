// Variables kept on one device and used on another: the default one, beside a device that is not it.
#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/core/device_spec.h"
#include "cohort/graph/function.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

// Where it is computed: the device of the tests, or another one than the CPU where that is it.
std::string far_device() {
  const std::string name = default_device().name();
  return name == "CPU:0" ? "TEST:2" : name;
}

// Two variables that lie on the CPU.
struct NearVariables {
  NearVariables() {
    const DeviceScope near = device("CPU:0");
    a = Variable(Tensor::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3}), {.name = "a"});
    b = Variable(Tensor::of({1.0f, 2.0f, 3.0f}, {1, 3}), {.name = "b"});
  }
  Variable a, b;
};

const std::vector<float> kProduct{1, 4, 9, 4, 10, 18};

void expect_far_product(const Tensor& k) {
  EXPECT_EQ(k.device().name(), far_device());
  EXPECT_EQ(k.to_vector<float>(), kProduct);
}

TEST(MixedDevices, AnOpRunsOnTheDeviceOfTheScopeWhereverItsVariablesLie) {
  NearVariables v;
  {
    const DeviceScope far = device(far_device());
    expect_far_product(v.a * v.b);
    expect_far_product(v.a.value() * Tensor::of({1.0f, 2.0f, 3.0f}, {1, 3}));  // one input here, one there
  }
  EXPECT_EQ(v.a.value().device().name(), "CPU:0");
}

TEST(MixedDevices, AFunctionKeepsToTheScopesInsideOfIt) {
  NearVariables v;
  const Function product = function([&] {
    const DeviceScope far = device(far_device());
    return v.a * v.b;
  });
  for (int i = 0; i < 2; ++i) expect_far_product(product());
  v.b.assign(Tensor::of({2.0f, 4.0f, 6.0f}, {1, 3}));
  EXPECT_EQ(product()[0].to_vector<float>(), (std::vector<float>{2, 8, 18, 8, 20, 36}));
}

TEST(MixedDevices, AFunctionRunsOnTheDeviceOfTheScopeItIsCalledIn) {
  NearVariables v;
  const Function product = function([&](const Tensor& x) { return v.a * v.b * x; });
  const Tensor one = Tensor::scalar(1, DType::Float32, cpu());
  EXPECT_EQ(product(one)[0].device().name(), "CPU:0");  // where its variables lie
  {
    const DeviceScope far = device(far_device());
    expect_far_product(product(one));
  }
  EXPECT_EQ(product(one)[0].device().name(), "CPU:0");
}

TEST(MixedDevices, AFunctionWritesVariablesWhereTheyLie) {
  NearVariables v;
  Variable sum;
  {
    const DeviceScope far = device(far_device());
    sum = Variable(Tensor::of({0.0f, 0.0f, 0.0f}, {1, 3}), {.name = "sum"});
  }
  const Function step = function([&] {
    const DeviceScope far = device(far_device());
    sum.assign_add(ops::sum(v.a * v.b, {0}, true));
    v.b.assign_add(sum);
    return sum * 1.0;
  });
  for (int i = 0; i < 3; ++i) step();
  // b: 1, 2, 3; sums over the columns of a: 5, 7, 9
  std::vector<float> b{1, 2, 3}, total{0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      total[j] += b[j] * std::vector<float>{5, 7, 9}[j];
      b[j] += total[j];
    }
  }
  EXPECT_EQ(v.b.value().to_vector<float>(), b);
  EXPECT_EQ(sum.value().to_vector<float>(), total);
  EXPECT_EQ(v.b.value().device().name(), "CPU:0");
  EXPECT_EQ(sum.value().device().name(), far_device());
}

TEST(MixedDevices, TrainingAFunctionMovesGradientsToTheVariables) {
  auto train = [](bool mixed) {
    Variable w, far_w;
    {
      const DeviceScope near = device("CPU:0");
      w = Variable(Tensor::of({0.5f, -0.25f}, {2}), {.name = "w"});
    }
    {
      const DeviceScope other = device(mixed ? far_device() : "CPU:0");
      far_w = Variable(Tensor::of({0.125f, 1.0f}, {2}), {.name = "far_w"});
    }
    const Ref<Optimizer> sgd = optimizers::SGD(0.125, {.momentum = 0.5});
    const Function step = function([&](const Tensor& x) {
      const DeviceScope there = device(mixed ? far_device() : "CPU:0");
      GradientTape tape;
      const Tensor y = w * x + far_w;
      const Tensor loss = ops::sum(y * y);
      const Variables variables{w, far_w};
      sgd->apply(tape.gradient(loss, variables), variables);
      return loss;
    });
    std::vector<float> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(Tensor(step(Tensor::of({1.0f, 2.0f}, {2}))).item<float>());
    for (const Variable& v : {w, far_w}) {
      for (float value : v.value().to_vector<float>()) losses.push_back(value);
    }
    return losses;
  };
  EXPECT_EQ(train(true), train(false));
}

// What runs as one kernel needs the memory of all of its variables.
TEST(MixedDevices, ABranchOverVariablesOfTwoDevicesIsRefused) {
  NearVariables v;
  const DeviceScope far = device(far_device());
  Variable other(Tensor::scalar(2), {.name = "other"});
  const Function either = function([&](const Tensor& x) {
    return ops::cond(
        ops::sum(x) > 0.0, [&] { return Tensors{ops::sum(v.a) * x}; }, [&] { return Tensors{other * x}; })[0];
  });
  const std::string error = test::error_of([&] { either(Tensor::scalar(1)); });
  EXPECT_NE(error.find("variables of one call must lie on one device"), std::string::npos) << error;
}

}  // namespace
}  // namespace cohort
