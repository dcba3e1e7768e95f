#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/buffer.h"
#include "cohort/core/device_memory.h"
#include "tests/support/error_of.h"

namespace cohort::cuda {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kPiece = std::size_t{64} << 20;

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    const std::string error = error_of([&] { gpu_ = &device_named("GPU:0"); });
    if (error.starts_with("NotFound") || error.starts_with("FailedPrecondition")) GTEST_SKIP() << error;
    ASSERT_EQ(error, "");
  }
  void TearDown() override {
    if (gpu_) set_memory_limit("GPU:0", 0);
  }
  Owned<Buffer> take(std::size_t bytes, const std::string& use) {
    return Buffer::allocate(*gpu_, bytes, [&] { return use; });
  }
  Device* gpu_ = nullptr;
};

TEST_F(GpuMemory, IsCounted) {
  const std::size_t before = device_memory(*gpu_).current;
  EXPECT_GT(before, 0u);  // its own working memory
  reset_peak_memory(*gpu_);
  take(kPiece, "a piece");
  EXPECT_EQ(device_memory(*gpu_).current, before);
  EXPECT_EQ(device_memory(*gpu_).peak, before + kPiece);
}

TEST_F(GpuMemory, ThatIsNotThereIsAskedForInVain) {
  const auto held = take(kPiece, "variable 'kernel'");
  const std::size_t before = device_memory(*gpu_).current;
  const std::string error = error_of([&] { take(std::size_t{1} << 50, "tensor float32(16777216, 16777216)"); });
  EXPECT_THAT(error, AllOf(StartsWith("ResourceExhausted tensor float32(16777216, 16777216): GPU:0: 1.00 PiB"),
                           HasSubstr("the device has no more"), HasSubstr("variable 'kernel': 64.00 MiB"),
                           HasSubstr("working memory of kernels")));
  EXPECT_EQ(device_memory(*gpu_).current, before);
  take(kPiece, "what fits");  // nothing is broken
  gpu_->synchronize();
}

TEST_F(GpuMemory, HasALimitWhereOneIsSet) {
  set_memory_limit("GPU:0", device_memory(*gpu_).current + kPiece);
  const auto held = take(kPiece, "all of it");
  EXPECT_THAT(error_of([&] { take(1, "one more"); }),
              AllOf(StartsWith("ResourceExhausted one more: GPU:0"), HasSubstr("its limit allows no more")));
}

}  // namespace
}  // namespace cohort::cuda
