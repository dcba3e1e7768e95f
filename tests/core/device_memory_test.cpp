#include "cohort/core/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "cohort/core/buffer.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// A device with memory that is counted: the CPU's.
class CountedDevice : public Device {
 public:
  explicit CountedDevice(int index) : Device("COUNTED", index) {}
  bool host_readable() const override { return true; }
  void* allocate(std::size_t bytes) override {
    account_.add(bytes);
    return cpu().allocate(bytes);
  }
  void deallocate(void* memory, std::size_t bytes) override {
    account_.remove(memory, bytes);
    cpu().deallocate(memory, bytes);
  }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override { std::memcpy(target, source, bytes); }
  void fill(void*, const void*, std::size_t, std::size_t) override {}
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream) override {
    std::memcpy(target, source, bytes);
  }
  void run(std::span<const KernelCall>, const RandomState*, OutputAllocator*) override {}
  std::unique_ptr<DeviceEvent> make_event() override { return cpu().make_event(); }
  DeviceMemory memory() override { return account_.memory(); }
  void reset_peak_memory() override { account_.reset_peak(); }
  void limit_memory(std::size_t bytes) override { account_.set_limit(bytes); }
  void note_use(void* memory, std::size_t bytes, MemoryUse use) override { account_.note(memory, bytes, use()); }
  bool growth() const { return account_.growth(); }

 private:
  MemoryAccount account_{*this};
};

[[maybe_unused]] const bool counted_device_registered = register_device_type(
    "COUNTED", [](int index) -> std::unique_ptr<Device> { return std::make_unique<CountedDevice>(index); });

Owned<Buffer> piece(Device& device, std::size_t bytes, const std::string& use) {
  return Buffer::allocate(device, bytes, [&] { return use; });
}

TEST(DeviceMemory, CountsWhatIsInUseAndTheMost) {
  Device& device = device_named("device:COUNTED:0");
  {
    const auto large = piece(device, 3 * kMiB, "a"), small = Buffer::allocate(device, 10);
    EXPECT_EQ(device_memory(device).current, 3 * kMiB + 10);
  }
  EXPECT_EQ(device_memory(device).current, 0u);
  EXPECT_EQ(device_memory(device).peak, 3 * kMiB + 10);
  EXPECT_EQ(device_memory(device).limit, 0u);
  const auto held = piece(device, kMiB, "b");
  reset_peak_memory(device);
  EXPECT_EQ(device_memory(device).peak, kMiB);
}

TEST(DeviceMemory, ARequestBeyondTheLimitNamesItselfAndTheLargestUsers) {
  Device& device = device_named("device:COUNTED:1");
  set_memory_limit("/device:COUNTED:1", 64 * kMiB);
  EXPECT_EQ(device_memory(device).limit, 64 * kMiB);
  std::vector<Owned<Buffer>> held;
  for (int i = 0; i < 3; ++i) held.push_back(piece(device, 4 * kMiB, "variable 'dense/kernel'"));
  for (int i = 1; i <= 6; ++i)
    held.push_back(piece(device, static_cast<std::size_t>(i) * kMiB, "use " + std::to_string(i)));
  held.push_back(Buffer::allocate(device, kMiB / 2));
  const std::string error = error_of([&] { piece(device, 40 * kMiB, "tensor float32(1024, 10240)"); });
  EXPECT_THAT(error, testing::StartsWith("ResourceExhausted tensor float32(1024, 10240): COUNTED:1: 40.00 MiB of its "
                                         "memory are expected to be free. Received: "));
  EXPECT_THAT(error, AllOf(HasSubstr("in use=33.50 MiB"), HasSubstr("limit=64.00 MiB"),
                           HasSubstr("largest users=3 x variable 'dense/kernel': 12.00 MiB, use 6: 6.00 MiB, use 5"),
                           HasSubstr("all others: 3.50 MiB"), HasSubstr("smaller")));
  EXPECT_THAT(error, Not(HasSubstr("use 2")));  // the list has an end
  // What was refused is not counted, and there is room again for what fits.
  EXPECT_EQ(device_memory(device).current, 33 * kMiB + kMiB / 2);
  held.clear();
  EXPECT_EQ(device_memory(device).current, 0u);
  held.push_back(piece(device, 64 * kMiB, "all of it"));
  EXPECT_THAT(error_of([&] { Buffer::allocate(device, 1); }),
              AllOf(HasSubstr("1 bytes of its memory"), HasSubstr("largest users=all of it: 64.00 MiB"),
                    Not(HasSubstr("dense/kernel"))));
  set_memory_limit("device:counted:1", 0);
  held.push_back(Buffer::allocate(device, 1));
}

TEST(DeviceMemory, AMemoryThatIsNotedAnewHasTheNewName) {
  Device& device = device_named("device:COUNTED:2");
  const auto memory = piece(device, kMiB, "tensor float32(512, 512)");
  device.note_use(memory->data(), memory->bytes(), [] { return std::string("variable 'kernel'"); });
  set_memory_limit("device:COUNTED:2", kMiB);
  const std::string error = error_of([&] { Buffer::allocate(device, 1); });
  EXPECT_THAT(error, AllOf(HasSubstr("variable 'kernel': 1.00 MiB"), Not(HasSubstr("float32"))));
}

TEST(DeviceMemory, SettingsMadeBeforeTheDeviceHold) {
  set_memory_limit("device:COUNTED:3", 5 * kMiB);
  set_memory_growth("device:COUNTED:3", false);
  set_memory_growth("device:COUNTED:3", true);
  set_memory_growth("device:COUNTED:3", false);
  auto& device = static_cast<CountedDevice&>(device_named("device:COUNTED:3"));
  EXPECT_EQ(device_memory(device).limit, 5 * kMiB);
  EXPECT_FALSE(device.growth());
  set_memory_growth("device:COUNTED:3", false);
  EXPECT_THAT(error_of([] { set_memory_growth("device:COUNTED:3", true); }),
              AllOf(testing::StartsWith("FailedPrecondition set_memory_growth"), HasSubstr("device=COUNTED:3")));
  EXPECT_TRUE(static_cast<CountedDevice&>(device_named("device:COUNTED:4")).growth());
}

TEST(DeviceMemory, RefusesDevicesWithoutMemoryOfTheirOwn) {
  EXPECT_THAT(error_of([] { set_memory_limit("CPU:0", 1); }),
              testing::StartsWith("InvalidArgument set_memory_limit: a device with memory of its own"));
  EXPECT_THAT(error_of([] { set_memory_growth("/job:worker/gpu:0", false); }), HasSubstr("of this process"));
  EXPECT_THAT(error_of([] { set_memory_limit("", 1); }), HasSubstr("of this process"));
  EXPECT_THAT(error_of([] { cpu().limit_memory(1); }), testing::StartsWith("Unimplemented"));
}

TEST(DeviceMemory, CountsFromManyThreads) {
  Device& device = device_named("device:COUNTED:5");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) piece(device, kMiB, "of thread " + std::to_string(t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device_memory(device).current, 0u);
  EXPECT_GE(device_memory(device).peak, kMiB);
  EXPECT_LE(device_memory(device).peak, 4 * kMiB);
}

}  // namespace
}  // namespace cohort
