// main of every test binary. --device=NAME runs all tests, and the programs that they start, with that default device,
// which otherwise is CPU:0; GoogleTest reads the rest.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "cohort/core/device.h"
#include "cohort/core/op_determinism.h"
#include "cohort/core/tensor_float_32.h"

namespace {

// Which part of the tests this process runs is settled when it begins. Programs that tests start have parts of their
// own.
class OwnPartOfTests : public testing::Environment {
 public:
  void SetUp() override {
    ::unsetenv("GTEST_TOTAL_SHARDS");
    ::unsetenv("GTEST_SHARD_INDEX");
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new OwnPartOfTests);
  cohort::enable_op_determinism();
  cohort::enable_tensor_float_32_execution(false);  // what is compared here is compared to the last bits of float32
  constexpr std::string_view kDevice = "--device=";
  std::string device = "CPU:0";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kDevice)) {
      std::fprintf(stderr, "unknown argument %s; --device=NAME and GoogleTest's are known\n", argv[i]);
      return 2;
    }
    device = argument.substr(kDevice.size());
  }
  try {
    cohort::set_default_device(device);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  ::setenv("COHORT_DEVICE", device.c_str(), 1);
  return RUN_ALL_TESTS();
}
