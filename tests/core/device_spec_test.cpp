#include "cohort/core/device_spec.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "cohort/core/device.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

std::string normal(std::string_view text) { return DeviceSpec::from_string(text).to_string(); }

TEST(DeviceSpec, ReadsEveryForm) {
  EXPECT_EQ(normal("/job:worker/replica:2/task:1/device:CPU:0"), "/job:worker/replica:2/task:1/device:CPU:0");
  EXPECT_EQ(normal("/job:ps/task:0/cpu:0"), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(normal("/cpu:0"), "/device:CPU:0");
  EXPECT_EQ(normal("/GPU:1"), "/device:GPU:1");
  EXPECT_EQ(normal("CPU:0"), "/device:CPU:0");
  EXPECT_EQ(normal("gpu"), "/device:GPU:*");
  EXPECT_EQ(normal("/device:gpu:3"), "/device:GPU:3");
  EXPECT_EQ(normal("device:npu:3"), "/device:NPU:3");
  EXPECT_EQ(normal("/job:ps"), "/job:ps");
  EXPECT_EQ(normal("job:ps/task:7"), "/job:ps/task:7");
  EXPECT_EQ(normal(""), "");
}

TEST(DeviceSpec, TakesPartsInAnyOrder) {
  EXPECT_EQ(normal("/gpu:1/task:3/job:worker"), "/job:worker/task:3/device:GPU:1");
}

TEST(DeviceSpec, AStarLeavesTheFieldOpen) {
  EXPECT_EQ(normal("/job:*/replica:*/task:*/device:GPU:*"), "/device:GPU:*");
  EXPECT_FALSE(DeviceSpec::from_string("/gpu:*").device_index.has_value());
  EXPECT_TRUE(DeviceSpec::from_string("/job:*").empty());
}

TEST(DeviceSpec, RefusesBadStrings) {
  for (const char* bad : {"/cpu:0/gpu:0",
                          "/cpu:0/cpu:0",
                          "/job:a/job:b",
                          "/task:1/task:1",
                          "/replica:0/replica:1",
                          "/job:*/job:a",
                          "/task:-1",
                          "/cpu:-1",
                          "/task:",
                          "/task:x",
                          "/task:1x",
                          "/task:+1",
                          "/task: 1",
                          "/task:99999999999999999999",
                          "/job:",
                          "/job:1a",
                          "/job:a b",
                          "/job:a:b",
                          "/jobs:a",
                          "/xpu:0",
                          "/",
                          "//cpu:0",
                          "/cpu:0/",
                          "/cpu:0:1",
                          "/device:",
                          "/device::0",
                          "/device:CPU:0:1",
                          "/device:C PU:0",
                          "junk",
                          " /cpu:0",
                          "/cpu:0 ",
                          ":",
                          "/:"}) {
    EXPECT_THROW(DeviceSpec::from_string(bad), Error) << bad;
  }
}

TEST(DeviceSpec, ErrorsSayWhatWasExpectedAndReceived) {
  try {
    DeviceSpec::from_string("/jobs:a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(
        error.what(),
        "DeviceSpec: each part must be job:NAME, replica:N, task:N, device:TYPE:N, cpu:N, gpu:N or tpu:N. "
        "Received: device='/jobs:a', part='jobs:a'. For example /job:worker/task:1/device:CPU:0, /gpu:0 or CPU:0.");
  }
}

TEST(DeviceSpec, MergingTakesWhatTheOtherSets) {
  const DeviceSpec base = DeviceSpec::from_string("/job:worker/task:0/gpu:1");
  EXPECT_EQ(base.make_merged_spec(DeviceSpec::from_string("/task:1")).to_string(), "/job:worker/task:1/device:GPU:1");
  EXPECT_EQ(base.make_merged_spec({}), base);
  EXPECT_EQ(DeviceSpec{}.make_merged_spec(base), base);
}

TEST(DeviceSpec, CanonicalizeFillsWhatIsOpen) {
  EXPECT_EQ(canonicalize(""), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(canonicalize("/gpu"), "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(canonicalize("/gpu:2", "/job:worker/task:3"), "/job:worker/replica:0/task:3/device:GPU:2");
  EXPECT_EQ(canonicalize("/job:ps", "/job:worker/task:3"), "/job:ps/replica:0/task:3/device:CPU:0");
}

TEST(DeviceScope, InnerWinsAndOuterFillsHoles) {
  EXPECT_TRUE(current_device_spec().empty());
  {
    auto outer = device("/job:worker/task:1/gpu:0");
    {
      auto inner = device("/task:2");
      EXPECT_EQ(current_device_spec().to_string(), "/job:worker/task:2/device:GPU:0");
    }
    EXPECT_EQ(current_device_spec().to_string(), "/job:worker/task:1/device:GPU:0");
  }
  EXPECT_TRUE(current_device_spec().empty());
}

TEST(DeviceScope, FunctionsSeeWhatScopesInsideSayAndAreSeenByThoseAround) {
  auto outer = device("/replica:0/task:7");
  auto chooser = device([](const DeviceRequest& request) {
    const DeviceSpec job = DeviceSpec::from_string(request.is_variable() ? "/job:ps/task:1" : "/job:worker");
    return job.make_merged_spec(request.device);
  });
  EXPECT_EQ(device_for({.op = "MatMul"}).to_string(), "/job:worker/replica:0/task:7");
  EXPECT_EQ(device_for({.op = "Variable"}).to_string(), "/job:ps/replica:0/task:1");
  {
    auto inner = device("/gpu:1");
    EXPECT_EQ(device_for({.op = "MatMul"}).to_string(), "/job:worker/replica:0/task:7/device:GPU:1");
    auto innermost = device("/task:2");
    EXPECT_EQ(device_for({.op = "Variable"}).to_string(), "/job:ps/replica:0/task:2/device:GPU:1");
  }
  EXPECT_EQ(current_device_spec().to_string(), "/replica:0/task:7");
  auto nothing = device(DeviceFunction());
  EXPECT_EQ(device_for({.op = "MatMul"}).to_string(), "/job:worker/replica:0/task:7");
}

TEST(DeviceScope, EndsInAnyOrderAndAfterErrors) {
  auto outer = std::make_unique<DeviceScope>(DeviceSpec::from_string("/job:a"));
  auto inner = std::make_unique<DeviceScope>(DeviceSpec::from_string("/job:b"));
  outer.reset();
  EXPECT_EQ(current_device_spec().to_string(), "/job:b");
  inner.reset();
  EXPECT_THROW(device("nonsense"), Error);
  EXPECT_TRUE(current_device_spec().empty());
}

TEST(DeviceScope, BelongsToItsThread) {
  auto scope = device("/job:worker");
  std::string seen = "?";
  std::thread([&] { seen = current_device_spec().to_string(); }).join();
  EXPECT_EQ(seen, "");
}

TEST(DeviceScope, DecidesTheDefaultDevice) {
  Device& before = default_device();
  {
    auto scope = device("/device:TEST:1");
    EXPECT_EQ(default_device().name(), "TEST:1");
    EXPECT_EQ(scoped_local_device(), &default_device());
    auto remote = device("/job:worker/task:0");
    EXPECT_EQ(scoped_local_device(), nullptr);
    EXPECT_EQ(&default_device(), &before);
  }
  EXPECT_EQ(&default_device(), &before);
}

}  // namespace
}  // namespace cohort
