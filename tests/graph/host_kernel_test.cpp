#include "cohort/core/host_kernel.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cohort/core/device.h"
#include "cohort/core/fill_memory.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/variables/variable.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

// Has memory that the host cannot read, and not one kernel.
class BareDevice : public Device {
 public:
  explicit BareDevice(int index) : Device("BARE", index) {}

  bool host_readable() const override { return false; }
  void* allocate(std::size_t bytes) override { return hidden(std::malloc(bytes + 1)); }
  void deallocate(void* memory, std::size_t) override { std::free(shown(memory)); }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(shown(target), source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(target, shown(source), bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override {
    copy_from_host(target, shown(source), bytes);
  }
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override {
    fill_memory(shown(target), element, element_bytes, count);
  }
  void enqueue_copy(void*, const void*, std::size_t, DeviceStream) override { std::abort(); }
  std::unique_ptr<DeviceEvent> make_event() override { return nullptr; }
  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override {
    for (const KernelCall& call : calls) {
      (*call.kernel)({call.arguments, call.arguments + call.inputs, random, allocator});
    }
  }

 private:
  static constexpr std::uintptr_t kHidden = std::uintptr_t{1} << 52;
  static void* hidden(void* memory) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) | kHidden);
  }
  static void* shown(const void* memory) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) & ~kHidden);
  }
};

const bool bare_registered = register_device_type(
    "BARE", [](int index) -> std::unique_ptr<Device> { return std::make_unique<BareDevice>(index); });

Tensor on_bare(const std::vector<float>& values, const Shape& shape) {
  return Tensor::of(values, shape).to(device_named("BARE:0"));
}

TEST(HostKernel, AnOpWithoutAKernelRunsOnTheHost) {
  ASSERT_TRUE(bare_registered);
  const Tensor x = on_bare({4, 1, 3, 2}, {2, 2});
  const Tensor y = ops::matmul(x, x);
  EXPECT_EQ(y.device().name(), "BARE:0");
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{19, 6, 18, 7}));
}

TEST(HostKernel, ResultsWhoseShapesItDecidesComeBack) {
  const Tensor x = on_bare({0, 1, 0, 2}, {4});
  const Tensor found = ops::where(ops::cast(x, DType::Bool));
  EXPECT_EQ(found.device().name(), "BARE:0");
  EXPECT_EQ(found.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3}));
}

TEST(HostKernel, VariablesAreWrittenWhereTheyLie) {
  const auto scope = device("/device:BARE:0");
  Variable v(on_bare({1, 2, 3}, {3}));
  v.assign_add(on_bare({10, 20, 30}, {3}));
  EXPECT_EQ(v.value().device().name(), "BARE:0");
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{11, 22, 33}));
}

TEST(HostKernel, RandomNumbersAreTheHosts) {
  const auto draw = [](Device& device) {
    const TracedGraph traced = trace({{DType::Float32, {8}}}, [](const Tensors& in) {
      return Tensors{in[0] + ops::random_normal({8}, 0.0, 1.0, DType::Float32, 3)};
    });
    Tensors outputs(1);
    const Tensor zeros = Tensor::of(std::vector<float>(8), {8}).to(device);
    compile(*traced.graph, {zeros.spec()}, device)->run({&zeros, 1}, outputs, {.seed = 5});
    return outputs[0].to_vector<float>();
  };
  EXPECT_EQ(draw(device_named("BARE:0")), draw(cpu()));
}

TEST(HostKernel, WhatAKernelRefusesIsToldWithItsNode) {
  const TracedGraph traced = trace({{DType::Float32, {3}}, {DType::Int32, {1}}},
                                   [](const Tensors& in) { return Tensors{ops::take(in[0], in[1], 0)}; });
  Device& device = device_named("BARE:0");
  const Tensors inputs{on_bare({1, 2, 3}, {3}), Tensor::of(std::vector<std::int32_t>{7}, {1}).to(device)};
  Tensors outputs(1);
  const auto executable = compile(*traced.graph, {inputs[0].spec(), inputs[1].spec()}, device);
  EXPECT_NE(test::error_of([&] { executable->run(inputs, outputs, {}); }).find("7"), std::string::npos);
}

}  // namespace
}  // namespace cohort
