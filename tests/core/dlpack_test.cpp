#include "cohort/core/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "cohort/core/dlpack_abi.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A producer of either kind of managed tensor, that counts how often its memory is given back.
template <class Managed>
struct Producer {
  Producer(void* data, std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
    managed.context = this;
    managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->context)->returned; };
    managed.tensor = {.data = data,
                      .device = {dlpack::kCpu, 0},
                      .rank = static_cast<std::int32_t>(shape.size()),
                      .type = {dlpack::kFloat, 32, 1},
                      .shape = shape.data(),
                      .strides = strides.empty() ? nullptr : strides.data(),
                      .byte_offset = 0};
  }
  Tensor take() { return from_dlpack(&managed); }
  std::string refusal() {
    return error_of([this] { take(); });
  }

  Managed managed{};
  std::vector<std::int64_t> shape, strides;
  std::atomic<int> returned = 0;
};

template <class Managed>
class Dlpack : public testing::Test {};
using ManagedKinds = testing::Types<DLManagedTensorVersioned, DLManagedTensor>;
TYPED_TEST_SUITE(Dlpack, ManagedKinds);

// Runs `work` on the device's compute stream, after a while.
void run_later(Device& device, const KernelFn& work, const KernelFn& slow) {
  const KernelCall calls[] = {{.kernel = &slow}, {.kernel = &work}};
  device.run(calls, nullptr, nullptr);
}
const KernelFn kSleep = [](const KernelIO&) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };

TYPED_TEST(Dlpack, UsesMemoryOfTheHostAndGivesItBackOnce) {
  float memory[] = {0, 1, 2, 3, 4, 5, 6};
  Producer<TypeParam> producer(memory, {2, 3});
  producer.managed.tensor.byte_offset = sizeof(float);
  {
    Tensor tensor = producer.take();
    EXPECT_EQ(tensor.raw(), memory + 1);
    EXPECT_EQ(&tensor.device(), &cpu());
    EXPECT_EQ(tensor.spec(), (TensorSpec{DType::Float32, {2, 3}}));
    const Tensor row = tensor.rows(1, 1);
    tensor = {};
    EXPECT_EQ(producer.returned, 0) << "a view keeps the memory";
    EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{4, 5, 6}));
  }
  EXPECT_EQ(producer.returned, 1);
}

TYPED_TEST(Dlpack, AnyThreadMayBeTheLast) {
  float memory[] = {1, 2};
  Producer<TypeParam> producer(memory, {2});
  std::vector<std::thread> threads;
  {
    const Tensor tensor = producer.take();
    for (int i = 0; i < 8; ++i) threads.emplace_back([mine = tensor.rows(0, 1)]() mutable { mine = {}; });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(producer.returned, 1);
}

TYPED_TEST(Dlpack, TakesWhateverIsCompactWithoutACopy) {
  float memory[] = {1, 2, 3, 4};
  const auto is_used = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    Producer<TypeParam> producer(memory, std::move(shape), std::move(strides));
    return producer.take().raw() == memory;
  };
  EXPECT_TRUE(is_used({2, 2}, {2, 1}));
  EXPECT_TRUE(is_used({2, 1, 2}, {2, 77, 1})) << "an axis of one element has no next one";
  EXPECT_TRUE(is_used({2, 0}, {5, 3}));
  EXPECT_TRUE(is_used({}, {}));
  EXPECT_FALSE(is_used({2, 2}, {1, 2}));
}

TYPED_TEST(Dlpack, CopiesWhatLiesInAnotherOrder) {
  float memory[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto values = [](float* data, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    Producer<TypeParam> producer(data, std::move(shape), std::move(strides));
    const Tensor tensor = producer.take();
    EXPECT_EQ(producer.returned, 1) << "a copy needs the memory no longer";
    return tensor.template to_vector<float>();
  };
  EXPECT_EQ(values(memory, {3, 2}, {1, 3}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(memory + 4, {2, 2}, {-4, 2}), (std::vector<float>{4, 6, 0, 2}));
  EXPECT_EQ(values(memory + 7, {3}, {0}), (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(values(memory, {2, 2, 2}, {6, 1, 3}), (std::vector<float>{0, 3, 1, 4, 6, 9, 7, 10}));
}

TYPED_TEST(Dlpack, CopiesWhatNoElementMayLieAt) {
  const float values[] = {1.5f, -2.25f};
  alignas(float) char memory[sizeof values + 1];
  std::memcpy(memory + 1, values, sizeof values);
  Producer<TypeParam> producer(memory, {2});
  producer.managed.tensor.byte_offset = 1;
  const Tensor tensor = producer.take();
  EXPECT_EQ(producer.returned, 1);
  EXPECT_EQ(tensor.template to_vector<float>(), (std::vector<float>{1.5f, -2.25f}));
}

TYPED_TEST(Dlpack, PinnedMemoryIsOfTheHost) {
  float memory[] = {1};
  Producer<TypeParam> producer(memory, {1});
  producer.managed.tensor.device = {dlpack::kCudaHost, 3};
  EXPECT_EQ(producer.take().device().name(), "CPU:0");
}

TYPED_TEST(Dlpack, LentMemoryIsNeverWritten) {
  float memory[] = {1, 2};
  Producer<TypeParam> producer(memory, {2});
  Tensor tensor = producer.take();
  tensor.renew(DType::Float32, {2}, cpu());
  EXPECT_NE(tensor.raw(), memory);
  EXPECT_EQ(producer.returned, 1);
}

TYPED_TEST(Dlpack, RefusalsNameTheReasonAndGiveTheMemoryBack) {
  float memory[4] = {};
  const auto refusal = [&](const auto& change) {
    Producer<TypeParam> producer(memory, {2, 2}, {2, 1});
    change(producer);
    const std::string error = producer.refusal();
    EXPECT_EQ(producer.returned, 1) << error;
    return error;
  };
  using Any = Producer<TypeParam>;
  EXPECT_THAT(refusal([](Any& any) {
                any.managed.tensor.type = {dlpack::kUInt, 16, 1};
              }),
              AllOf(StartsWith("Unimplemented from_dlpack: "), HasSubstr("dtype=uint16")));
  EXPECT_THAT(refusal([](Any& any) {
                any.managed.tensor.type = {dlpack::kFloat, 32, 4};
              }),
              HasSubstr("dtype=float32x4"));
  EXPECT_THAT(refusal([](Any& any) { any.managed.tensor.type = {10, 8, 1}; }), HasSubstr("dtype=type 10 of 8 bits"));
  EXPECT_THAT(refusal([](Any& any) { any.managed.tensor.device = {8, 1}; }), HasSubstr("device_type=8, device_id=1"));
  EXPECT_THAT(refusal([](Any& any) { any.managed.tensor.data = nullptr; }), HasSubstr("data=null"));
  EXPECT_THAT(refusal([](Any& any) { any.shape[1] = -1; }), HasSubstr("axis=1, size=-1"));
  EXPECT_THAT(refusal([](Any& any) { any.managed.tensor.rank = 9; }), HasSubstr("ndim=9"));
}

TYPED_TEST(Dlpack, ElementsApartAreRefusedWhereTheHostCannotReadThem) {
  const Tensor there = Tensor::full({2, 2}, 1, DType::Float32, device_named("TEST:0"));
  Producer<TypeParam> producer(there.raw(), {2, 2}, {1, 2});
  producer.managed.tensor.device = {dlpack::kExtension, 0};
  EXPECT_THAT(producer.refusal(), AllOf(HasSubstr("device=TEST:0"), HasSubstr("contiguous()")));
  EXPECT_EQ(producer.returned, 1);
}

TYPED_TEST(Dlpack, MemoryIsGivenBackWhenTheWorkThatReadsItIsDone) {
  Device& device = device_named("TEST:0");
  const Tensor there = Tensor::full({2}, 1, DType::Float32, device);
  std::atomic<bool> done = false;
  bool done_before = false;
  struct Watching : Producer<TypeParam> {
    using Producer<TypeParam>::Producer;
    std::function<void()> watch;
  } producer(there.raw(), {2});
  producer.watch = [&] { done_before = done; };
  producer.managed.context = &producer;
  producer.managed.deleter = [](TypeParam* self) { static_cast<Watching*>(self->context)->watch(); };
  producer.managed.tensor.device = {dlpack::kExtension, 0};
  Tensor tensor = producer.take();
  EXPECT_EQ(tensor.raw(), there.raw());
  const KernelFn work = [&](const KernelIO&) { done = true; };
  run_later(device, work, kSleep);
  tensor = {};
  EXPECT_TRUE(done_before);
  device.synchronize();
}

TYPED_TEST(Dlpack, AProducerMayHaveNoDeleter) {
  float memory[] = {1};
  Producer<TypeParam> producer(memory, {1});
  producer.managed.deleter = nullptr;
  EXPECT_EQ(producer.take().template item<float>(), 1.0f);
}

TEST(DlpackVersion, AnotherLayoutIsGivenBackUnread) {
  Producer<DLManagedTensorVersioned> producer(nullptr, {});
  producer.managed.version = {2, 1};
  producer.managed.tensor = {.data = nullptr,
                             .device = {-1, -1},
                             .rank = 1 << 30,
                             .type = {255, 255, 9},
                             .shape = nullptr,
                             .strides = nullptr,
                             .byte_offset = 7};
  EXPECT_THAT(producer.refusal(), HasSubstr("DLPack 1 is expected. Received: version=2.1"));
  EXPECT_EQ(producer.returned, 1);
  Producer<DLManagedTensorVersioned> newer(nullptr, {0});
  newer.managed.version = {1, 99};
  EXPECT_EQ(newer.take().shape(), (Shape{0}));
}

TEST(DlpackVersion, NothingIsRefused) {
  DLManagedTensorVersioned* versioned = nullptr;
  DLManagedTensor* unversioned = nullptr;
  EXPECT_THAT(error_of([&] { from_dlpack(versioned); }), HasSubstr("managed=null"));
  EXPECT_THAT(error_of([&] { from_dlpack(unversioned); }), HasSubstr("managed=null"));
}

TEST(DlpackExport, DescribesTheTensorAndKeepsItsMemory) {
  Tensor tensor = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 1, 2}).rows(1, 3);
  const void* memory = tensor.raw();
  DLManagedTensorVersioned* managed = to_dlpack(tensor);
  tensor.renew(DType::Int32, {4, 1, 2}, default_device());
  EXPECT_NE(tensor.raw(), memory) << "what others see is not used again";
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, dlpack::kReadOnly);
  EXPECT_EQ(managed->tensor.data, memory);
  EXPECT_EQ(managed->tensor.byte_offset, 0u);
  EXPECT_THAT(std::vector(managed->tensor.shape, managed->tensor.shape + 3), testing::ElementsAre(3, 1, 2));
  EXPECT_THAT(std::vector(managed->tensor.strides, managed->tensor.strides + 3), testing::ElementsAre(2, 2, 1));
  EXPECT_EQ(from_dlpack(managed).to_vector<int>(), (std::vector<int>{3, 4, 5, 6, 7, 8}));
}

TEST(DlpackExport, EveryPlainTypeTravelsThereAndBackWithoutACopy) {
  const std::vector<std::tuple<DType, int, int>> types = {
      {DType::Bool, 6, 8},      {DType::UInt8, 1, 8},    {DType::Int8, 0, 8},
      {DType::Int32, 0, 32},    {DType::Int64, 0, 64},   {DType::Float16, 2, 16},
      {DType::BFloat16, 4, 16}, {DType::Float32, 2, 32}, {DType::Float64, 2, 64},
  };
  for (const auto& [dtype, code, bits] : types) {
    const Tensor tensor = Tensor::full({2, 2}, 1, dtype);
    DLManagedTensor* managed = to_dlpack_unversioned(tensor);
    EXPECT_EQ(managed->tensor.type.code, code) << dtype;
    EXPECT_EQ(managed->tensor.type.bits, bits) << dtype;
    EXPECT_EQ(managed->tensor.type.lanes, 1) << dtype;
    const Tensor back = from_dlpack(managed);
    EXPECT_EQ(back.spec(), tensor.spec());
    EXPECT_EQ(back.raw(), tensor.raw()) << dtype;
    EXPECT_EQ(&back.device(), &default_device());
  }
}

TEST(DlpackExport, MemoryReturnsToItsDeviceWithTheDeleter) {
  float memory[] = {1, 2};
  int released = 0;
  DLManagedTensorVersioned* versioned = nullptr;
  DLManagedTensor* unversioned = nullptr;
  {
    const Tensor tensor = Tensor::from_blob(memory, DType::Float32, {2}, [&] { ++released; });
    versioned = to_dlpack(tensor);
    unversioned = to_dlpack_unversioned(tensor);
  }
  versioned->deleter(versioned);
  EXPECT_EQ(released, 0);
  std::thread([&] { unversioned->deleter(unversioned); }).join();
  EXPECT_EQ(released, 1);
}

TEST(DlpackExport, EmptyAndScalarTensors) {
  DLManagedTensorVersioned* empty = to_dlpack(Tensor::full({0, 3}, 1));
  EXPECT_EQ(empty->tensor.data, nullptr);
  EXPECT_EQ(from_dlpack(empty).shape(), (Shape{0, 3}));
  EXPECT_EQ(from_dlpack(to_dlpack(Tensor::scalar(2.5))).item<float>(), 2.5f);
}

TEST(DlpackExport, WaitsForTheDevice) {
  Device& device = device_named("TEST:0");
  const Tensor tensor = Tensor::full({2}, 1, DType::Float32, device);
  std::atomic<bool> done = false;
  const KernelFn work = [&](const KernelIO&) { done = true; };
  run_later(device, work, kSleep);
  DLManagedTensorVersioned* managed = to_dlpack(tensor);
  EXPECT_TRUE(done);
  EXPECT_EQ(managed->tensor.device.type, dlpack::kExtension);
  managed->deleter(managed);
}

TEST(DlpackExport, WhatWentWrongOnTheDeviceIsThrown) {
  Device& device = device_named("TEST:0");
  const Tensor tensor = Tensor::full({2}, 1, DType::Float32, device);
  const KernelFn work = [&](const KernelIO&) { throw invalid_argument("work", "something else is expected"); };
  run_later(device, work, kSleep);
  EXPECT_THAT(error_of([&] { to_dlpack(tensor); }), HasSubstr("work: something else is expected"));
  EXPECT_TRUE(tensor.owns_memory());
}

TEST(DlpackExport, RefusesWhatHasNoPlainMemory) {
  EXPECT_THAT(error_of([] { to_dlpack(Tensor::of_strings({"a"}, {1})); }), HasSubstr("dtype=string"));
  EXPECT_THAT(error_of([] { to_dlpack_unversioned(Tensor::of_resource(nullptr)); }), HasSubstr("dtype=resource"));
  EXPECT_THAT(error_of([] { to_dlpack(Tensor()); }), HasSubstr("must be given a value"));
  EXPECT_THAT(error_of([] {
                to_dlpack(Tensor::symbolic({DType::Float32, {2}}, {.trace = 1, .node = 0}));
              }),
              HasSubstr("while a function is traced"));
}

}  // namespace
}  // namespace cohort
