#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

// Has a kernel for float32 alone.
KernelFn make_for_floats_only(const KernelSpec& spec) {
  if (spec.input(0).dtype != DType::Float32) return {};
  return [](const KernelIO& io) { *io.out<float>(0) = *io.in<float>(0); };
}

COHORT_OP("MissingKernelTestFloats").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
COHORT_KERNEL("MissingKernelTestFloats", kCPU, make_for_floats_only);

TEST(MissingKernel, OfATypeSaysWhichOpAndDevice) {
  EXPECT_EQ(run_op("MissingKernelTestFloats", {Tensor::scalar(3)}).item<float>(), 3);
  const std::string error =
      test::error_of([] { run_op("MissingKernelTestFloats", {Tensor::scalar(3, DType::Int32)}); });
  EXPECT_THAT(error, testing::StartsWith("Unimplemented MissingKernelTestFloats: this op has no kernel for inputs of "
                                         "these types. Received: device=CPU"));
  EXPECT_THAT(error, testing::HasSubstr("Cast them to a type that it takes."));
}

}  // namespace
}  // namespace cohort
