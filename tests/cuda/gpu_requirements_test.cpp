#include "cohort/cuda/gpu_requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/error_of.h"

namespace cohort::cuda {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

cudaDeviceProp gpu_of(const char* model, int major, int minor) {
  cudaDeviceProp properties{};
  std::strcpy(properties.name, model);
  properties.major = major;
  properties.minor = minor;
  return properties;
}

TEST(GpuRequirements, CountsWhatTheDriverShows) {
  EXPECT_EQ(checked_gpu_count(13000, cudaSuccess, 2), 2);
  EXPECT_EQ(checked_gpu_count(13000, cudaErrorNoDevice, 0), 0);
  EXPECT_EQ(cuda_version_text(12080), "12.8");
}

TEST(GpuRequirements, AMissingOrOldDriverIsNamed) {
  EXPECT_THAT(
      error_of([] { checked_gpu_count(0, cudaErrorInsufficientDriver, 0); }),
      AllOf(StartsWith("FailedPrecondition GPU: a driver for NVIDIA's GPUs is expected"), HasSubstr("Install")));
  EXPECT_THAT(error_of([] { checked_gpu_count(12000, cudaErrorInsufficientDriver, 0); }),
              AllOf(StartsWith("FailedPrecondition GPU: a driver is expected that serves CUDA " +
                               cuda_version_text(CUDART_VERSION)),
                    HasSubstr("driver serves=12.0"), HasSubstr("newer driver")));
  EXPECT_THAT(
      error_of([] { checked_gpu_count(13000, cudaErrorSystemDriverMismatch, 0); }),
      AllOf(StartsWith("FailedPrecondition GPU: a driver that answers"), HasSubstr("cudaErrorSystemDriverMismatch")));
}

TEST(GpuRequirements, ANumberThatNoGpuHasIsRefused) {
  check_gpu_exists(1, 2);
  EXPECT_THAT(error_of([] { check_gpu_exists(2, 2); }), AllOf(StartsWith("NotFound"), HasSubstr("GPU:2, GPUs=2")));
  EXPECT_THAT(error_of([] { check_gpu_exists(0, 0); }), HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(GpuRequirements, AnOldArchitectureIsRefused) {
  check_gpu("GPU:0", gpu_of("A100", 8, 0));
  check_gpu("GPU:0", gpu_of("B200", 10, 0));
  EXPECT_EQ(gpu_problem(gpu_of("H200", 9, 0)), "");
  EXPECT_THAT(error_of([] { check_gpu("GPU:1", gpu_of("Tesla T4", 7, 5)); }),
              AllOf(StartsWith("FailedPrecondition GPU: a GPU of compute capability 8.0 or later is expected"),
                    HasSubstr("device=GPU:1, model=Tesla T4, compute capability=7.5"), HasSubstr("CPU:0")));
  EXPECT_EQ(gpu_problem(gpu_of("Tesla T4", 7, 5)), "compute capability 8.0 or later is expected, not 7.5");
}

TEST(GpuRequirements, AGpuWithoutFreeMemoryIsRefused) {
  check_free_memory("GPU:0", 1024 * kMebibyte, 16384 * kMebibyte);
  EXPECT_THAT(error_of([] { check_free_memory("GPU:0", 20 * kMebibyte, 16384 * kMebibyte); }),
              AllOf(StartsWith("ResourceExhausted GPU:0: 256 MiB of its memory are expected to be free"),
                    HasSubstr("free=20 MiB, total=16384 MiB"), HasSubstr("nvidia-smi")));
}

}  // namespace
}  // namespace cohort::cuda
