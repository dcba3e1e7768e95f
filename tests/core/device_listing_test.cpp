#include "cohort/core/device_listing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/cpu_level.h"
#include "cohort/core/device.h"
#include "cohort/core/device_module.h"
#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

TEST(DeviceListing, TellsOfTheCpu) {
  const std::vector<PhysicalDevice> found = list_physical_devices("CPU");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "CPU:0");
  EXPECT_EQ(found[0].device_type, "CPU");
  EXPECT_EQ(found[0].capability, cpu_level());
  EXPECT_EQ(found[0].processors, ThreadPool::instance().threads());
  EXPECT_GT(found[0].memory_free, 0u);
  EXPECT_GE(found[0].memory_total, found[0].memory_free);
}

TEST(DeviceListing, EveryDeviceItNamesCanBeHad) {
  const std::vector<PhysicalDevice> found = list_physical_devices();
  ASSERT_FALSE(found.empty());
  for (const PhysicalDevice& device : found) EXPECT_EQ(device_named(device.name).type(), device.device_type);
  EXPECT_TRUE(list_physical_devices("TPU").empty());
}

TEST(DeviceListing, SaysWhyThereIsNoGpu) {
  const DeviceListing listing = list_devices();
  const bool has_gpu = !list_physical_devices("GPU").empty();
  EXPECT_EQ(listing.no_gpu.empty(), has_gpu) << listing.no_gpu;
  EXPECT_TRUE(!has_gpu || missing_for_devices("GPU").empty());
  EXPECT_EQ(missing_for_devices("XPU"), "no library brings devices of this type");
}

}  // namespace
}  // namespace cohort
