#include "cohort/core/logical_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/device.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using test::error_of;
using testing::HasSubstr;

// A type for each test: devices live as long as the process.
void register_type(const std::string& type) {
  register_device_type(type, [](int index) -> std::unique_ptr<Device> {
    class Nothing : public Device {
     public:
      explicit Nothing(int index) : Device("NOTHING", index) {}
      bool host_readable() const override { return true; }
      void* allocate(std::size_t) override { return nullptr; }
      void deallocate(void*, std::size_t) override {}
      void copy_from_host(void*, const void*, std::size_t) override {}
      void copy_to_host(void*, const void*, std::size_t) override {}
      void copy(void*, const void*, std::size_t) override {}
      void fill(void*, const void*, std::size_t, std::size_t) override {}
      void enqueue_copy(void*, const void*, std::size_t, DeviceStream) override {}
      void run(std::span<const KernelCall>, const RandomState*, OutputAllocator*) override {}
      std::unique_ptr<DeviceEvent> make_event() override { return nullptr; }
    };
    return std::make_unique<Nothing>(index);
  });
}

TEST(LogicalDevices, AreAsManyAsAskedFor) {
  register_type("DIVIDED");
  device_named("DIVIDED:0");  // the first one is there in any case
  set_logical_devices("DIVIDED", 3);
  set_logical_devices("DIVIDED", 3);
  EXPECT_EQ(num_logical_devices("DIVIDED"), 3);
  device_named("DIVIDED:2");
  EXPECT_EQ(error_of([] { device_named("divided:3"); }),
            "NotFound device: one of the logical devices is expected. Received: device=divided:3, logical devices=3. "
            "Their number is what set_logical_devices was given.");
  EXPECT_EQ(error_of([] { set_logical_devices("DIVIDED", 2); }),
            "FailedPrecondition set_logical_devices: logical devices are set once. Received: count=2, before=3.");
}

TEST(LogicalDevices, AreSetBeforeTheyAreUsed) {
  register_type("USED");
  device_named("USED:1");
  EXPECT_EQ(error_of([] { set_logical_devices("USED", 2); }),
            "FailedPrecondition set_logical_devices: logical devices are set before they are used. Received: "
            "used=NOTHING:1. Call it at the beginning of the program.");
  EXPECT_EQ(num_logical_devices("USED"), 0);
}

TEST(LogicalDevices, AreOneAtLeastOfATypeThatIsThere) {
  EXPECT_EQ(error_of([] { set_logical_devices("CPU", 0); }),
            "InvalidArgument set_logical_devices: count must be at least 1. Received: count=0.");
  EXPECT_THAT(error_of([] { set_logical_devices("GPU", 2); }), HasSubstr("a GPU computes for one replica"));
  EXPECT_THAT(error_of([] { set_logical_devices("NPU", 2); }), HasSubstr("a type of device is expected"));
}

TEST(LogicalDevices, AreListedWithThoseThatAreNotDivided) {
  const std::vector<LogicalDevice> all = list_logical_devices("CPU");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "CPU:0");
  EXPECT_EQ(all[0].device_type, "CPU");
}

}  // namespace
}  // namespace cohort
