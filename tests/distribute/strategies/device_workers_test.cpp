// Workers whose stages run on a device that works beside them: what they train, and what they ask of the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cohort/cohort.h"
#include "cohort/core/device.h"
#include "tests/distribute/strategies/trained_weights.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::values_of;
using cohort::test::WeightValues;

class DefaultDevice {
 public:
  explicit DefaultDevice(std::string_view device) : before_(default_device().name()) { set_default_device(device); }
  ~DefaultDevice() { set_default_device(before_); }

 private:
  const std::string before_;
};

// What was asked of a CountingDevice.
struct DeviceCounts {
  std::atomic<int> recordings{0}, pinned{0}, copies_to_host{0}, copies_from_host{0}, enqueued{0};
};
DeviceCounts counts;

// The TEST device, and how often it is asked for what takes time.
class CountingDevice : public Device {
 public:
  explicit CountingDevice(int index) : Device("COUNTED", index) {}
  std::string_view kernel_type() const override { return inner_.kernel_type(); }
  bool host_readable() const override { return false; }
  void* allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(void* memory, std::size_t bytes) override { inner_.deallocate(memory, bytes); }
  void* allocate_pinned(std::size_t bytes) override {
    ++counts.pinned;
    return inner_.allocate_pinned(bytes);
  }
  void deallocate_pinned(void* memory, std::size_t bytes) override { inner_.deallocate_pinned(memory, bytes); }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    ++counts.copies_from_host;
    inner_.copy_from_host(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    ++counts.copies_to_host;
    inner_.copy_to_host(target, source, bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override { inner_.copy(target, source, bytes); }
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override {
    inner_.fill(target, element, element_bytes, count);
  }
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream stream) override {
    ++counts.enqueued;
    inner_.enqueue_copy(target, source, bytes, stream);
  }
  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override {
    inner_.run(calls, random, allocator);
  }
  void derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) override {
    inner_.derive_turns(turns, loop, count);
  }
  std::unique_ptr<DeviceEvent> make_event() override { return inner_.make_event(); }
  bool can_record() const override { return true; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    ++counts.recordings;
    return inner_.record(work);
  }
  void drain() noexcept override { inner_.drain(); }
  void check() override { inner_.check(); }

 private:
  Device& inner_ = device_named("TEST:6");
};

[[maybe_unused]] const bool counting_device_registered = register_device_type(
    "COUNTED", [](int index) -> std::unique_ptr<Device> { return std::make_unique<CountingDevice>(index); });

Tensor numbers_for_workers(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 97) / 97.0f - 0.5f;
  return Tensor::of(values, shape, cpu());
}

// The last batch is a short one.
Dataset data_for_workers(std::int64_t batch = 9) {
  return datasets::from_tensor_slices(numbers_for_workers({94, 6}), numbers_for_workers({94, 2})).batch(batch);
}

struct TrainedThere {
  WeightValues weights;
  std::vector<double> losses, validation_losses;
  std::vector<float> predictions;
  bool operator==(const TrainedThere&) const = default;
};

TrainedThere train_there(std::string_view device, const char* transport, std::int64_t units = 5,
                         std::int64_t steps_per_execution = 4) {
  const DefaultDevice there(device);
  LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {.transport = transport});
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = transport});
  auto scope = strategy.scope();
  set_random_seed(11);
  Sequential model({layers::Dense(units, {.activation = "tanh"}), layers::Dropout(0.2), layers::BatchNormalization(),
                    layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = steps_per_execution});
  const History history =
      model.fit(data_for_workers(), {.epochs = 3, .verbose = 0, .validation_data = data_for_workers(40)});
  return {values_of(model), history["loss"], history["val_loss"],
          model.predict(datasets::from_tensor_slices(numbers_for_workers({50, 6})).batch(20), {.verbose = 0})
              .to_vector<float>()};
}

class DeviceWorkers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, DeviceWorkers, testing::Values("auto", "grpc"));

TEST_P(DeviceWorkers, TrainAsTheCpuDoes) {
  for (const std::int64_t steps : {1, 4}) {
    const TrainedThere expected = train_there("CPU:0", GetParam(), 5, steps);
    EXPECT_EQ(train_there("TEST:0", GetParam(), 5, steps), expected) << steps;
  }
}

// Gradients so large that they are sent off while others are still computed.
TEST_P(DeviceWorkers, TrainAsTheCpuDoesWithLargeGradients) {
  const auto train = [&](std::string_view device) {
    const DefaultDevice there(device);
    LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {.transport = GetParam()});
    const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
    auto scope = strategy.scope();
    set_random_seed(11);
    Sequential model({layers::Dense(768, {.activation = "relu"}), layers::Dense(768, {.activation = "relu"}),
                      layers::Dense(768, {.activation = "relu"}), layers::Dense(2)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(data_for_workers(), {.epochs = 1, .verbose = 0});
    return values_of(model);
  };
  EXPECT_EQ(train("TEST:0"), train("CPU:0"));
}

// Several workers share the device, each with its own events.
TEST_P(DeviceWorkers, CountEveryStepOnce) {
  const DefaultDevice there("TEST:0");
  LocalCluster cluster({{"worker", 3}, {"ps", 2}}, {.transport = GetParam()});
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  // w += learning rate with every step, whatever the order.
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae", .steps_per_execution = 5});
  const Dataset ones =
      datasets::from_tensor_slices(Tensor::full({4, 1}, 1.0), Tensor::full({4, 1}, 1e6)).batch(4).repeat();
  model.fit(ones, {.epochs = 3, .verbose = 0, .steps_per_epoch = 100});
  EXPECT_EQ(model.get_weights()[0].item<float>(), 300.0f);
}

struct Asked {
  int recordings, pinned, copies_to_host, copies_from_host, enqueued;
};

Asked asked_for(std::int64_t steps) {
  const DefaultDevice there("COUNTED:0");
  LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {});
  const ParameterServerStrategy strategy(cluster.resolver(), {});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(5, {.activation = "tanh"}), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = steps});
  const Dataset data =
      datasets::from_tensor_slices(numbers_for_workers({90, 6}), numbers_for_workers({90, 2})).batch(9).repeat();
  const auto read = [] {
    return Asked{counts.recordings, counts.pinned, counts.copies_to_host, counts.copies_from_host, counts.enqueued};
  };
  model.fit(data, {.epochs = 1, .verbose = 0, .steps_per_epoch = 8 * steps});  // everything is made
  const Asked before = read();
  model.fit(data, {.epochs = 1, .verbose = 0, .steps_per_epoch = steps});
  const Asked after = read();
  return {after.recordings - before.recordings, after.pinned - before.pinned,
          after.copies_to_host - before.copies_to_host, after.copies_from_host - before.copies_from_host,
          after.enqueued - before.enqueued};
}

// A step of a worker waits for no copy of its own accord and asks for nothing new: all that it needs lies where it was.
TEST(DeviceWorkers, AskForNothingNewInASteadyState) {
  const Asked few = asked_for(4), many = asked_for(40);
  EXPECT_EQ(many.recordings, few.recordings);
  EXPECT_EQ(many.pinned, few.pinned);
  EXPECT_EQ(many.copies_to_host, few.copies_to_host);
  EXPECT_EQ(many.copies_from_host, few.copies_from_host);
  // Four weights and their four gradients, and what a step is begun with.
  EXPECT_GE(many.enqueued - few.enqueued, 36 * 9);
}

// A value that no kernel takes ends the step before its gradients reach a server.
TEST(DeviceWorkers, SendNothingOfAStepThatFailed) {
  const DefaultDevice there("TEST:0");
  LocalCluster cluster({{"worker", 1}, {"ps", 1}}, {});
  const ParameterServerStrategy strategy(cluster.resolver(), {});
  auto scope = strategy.scope();
  Sequential model({layers::Embedding(4, 3), layers::Flatten(), layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse"});
  model.build({kUnknown, 2});
  const WeightValues before = values_of(model);
  const Dataset data = datasets::from_tensor_slices(Tensor::of({0, 1, 2, 9}, {2, 2}, cpu()),
                                                    Tensor::full({2, 1}, 1.0, DType::Float32, cpu()))
                           .batch(2);
  EXPECT_THAT(test::error_of([&] { model.fit(data, {.epochs = 1, .verbose = 0}); }), testing::HasSubstr("9"));
  EXPECT_EQ(values_of(model), before);
}

}  // namespace
}  // namespace cohort::distribute
