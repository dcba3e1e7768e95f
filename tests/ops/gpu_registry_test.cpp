#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/device_module.h"
#include "cohort/core/kernel.h"
#include "cohort/core/text.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

// Ops that need no kernel, and those that stay on the host.
const std::vector<std::string_view> kWithoutKernel = {
    "Input", "Constant", "ReadVariable",
    // text, tables, files and what a variable begins with
    "StandardizeText", "TokenizeText", "HashBuckets", "LookupIndex", "LookupToken", "IteratorNext", "InitialValue",
    // made by a pass for CPUs alone
    "AdamSlicesUpdate",
    // of replicas on CPUs alone
    "AllReduceRows",
    // decompositions of matrices
    "Cholesky", "Det", "Eigh", "Inv", "Lstsq", "LuFactor", "Pinv", "Qr", "Slogdet", "Solve", "SolveTriangular", "Svd"};

class GpuRegistry : public testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = load_device_module("GPU");
    if (missing.starts_with("this build of Cohort has no")) GTEST_SKIP() << missing;
    ASSERT_EQ(missing, "");
  }
};

TEST_F(GpuRegistry, EveryOpHasAKernelButForAFew) {
  std::vector<std::string> lacking, needless;
  for (const OpDef* op : all_ops()) {
    const bool excused = std::find(kWithoutKernel.begin(), kWithoutKernel.end(), op->name()) != kWithoutKernel.end();
    const bool has = has_kernel(op->name(), kGPU);
    if (!has && !excused) lacking.push_back(op->name());
    if (has && excused) needless.push_back(op->name());
  }
  EXPECT_TRUE(lacking.empty()) << lacking.size() << " ops have no kernel for a GPU: " << join(lacking);
  EXPECT_TRUE(needless.empty()) << "no longer without a kernel: " << join(needless);
}

TEST_F(GpuRegistry, TheExcusedOpsExist) {
  for (std::string_view name : kWithoutKernel) EXPECT_EQ(error_of([&] { find_op(name); }), "");
}

TEST_F(GpuRegistry, AMachineWithoutAGpuIsToldSo) {
  const std::string error = error_of([] { device_named("GPU:0"); });
  if (error.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_TRUE(error.find("driver") != std::string::npos || error.find("a GPU of this machine") != std::string::npos)
      << error;
  // And so every time: nothing half made is left behind.
  EXPECT_EQ(error_of([] { device_named("GPU:0"); }), error);
  EXPECT_EQ(cpu().name(), "CPU:0");
}

}  // namespace
}  // namespace cohort::test
