#include "cohort/cuda/gpu_requirements.h"

#include "cohort/core/error.h"

namespace cohort::cuda {
namespace {

// The oldest GPUs whose instructions the kernels use.
constexpr int kOldestMajor = 8;
// What streams, the first working memory and the modules of kernels take.
constexpr std::size_t kLeastFree = std::size_t{256} << 20;

std::string capability_text(const cudaDeviceProp& properties) {
  return std::to_string(properties.major) + "." + std::to_string(properties.minor);
}

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int count_gpus() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  const cudaError_t answer = cudaGetDeviceCount(&count);
  if (answer != cudaSuccess) (void)cudaGetLastError();  // it is dealt with here, and must not show up elsewhere
  return checked_gpu_count(driver, answer, count);
}

int checked_gpu_count(int driver, cudaError_t answer, int count) {
  if (driver == 0) {
    throw failed_precondition("GPU", "a driver for NVIDIA's GPUs is expected", {{"libcuda.so.1", "not found"}},
                              "Install it, or place the work on CPU:0.");
  }
  if (answer == cudaErrorInsufficientDriver) {
    throw failed_precondition("GPU", "a driver is expected that serves CUDA " + cuda_version_text(CUDART_VERSION),
                              {{"driver serves", cuda_version_text(driver)}},
                              "Install a newer driver, or place the work on CPU:0.");
  }
  if (answer == cudaErrorNoDevice) return 0;
  if (answer != cudaSuccess) {
    throw failed_precondition("GPU", "a driver that answers is expected",
                              {{"error", cudaGetErrorName(answer)}, {"driver says", cudaGetErrorString(answer)}},
                              "Install the driver anew, or place the work on CPU:0.");
  }
  return count;
}

void check_gpu_exists(int index, int count) {
  if (index < count) return;
  throw not_found("device", "a GPU of this machine is expected",
                  {{"device", "GPU:" + std::to_string(index)}, {"GPUs", count}},
                  count == 0 ? "CUDA_VISIBLE_DEVICES may hide those that are there." : "");
}

std::string gpu_problem(const cudaDeviceProp& properties) {
  if (properties.major >= kOldestMajor) return {};
  return "compute capability " + std::to_string(kOldestMajor) + ".0 or later is expected, not " +
         capability_text(properties);
}

void check_gpu(const std::string& device, const cudaDeviceProp& properties) {
  if (gpu_problem(properties).empty()) return;
  throw failed_precondition(
      "GPU", "a GPU of compute capability " + std::to_string(kOldestMajor) + ".0 or later is expected",
      {{"device", device}, {"model", properties.name}, {"compute capability", capability_text(properties)}},
      "Place the work on CPU:0.");
}

void check_free_memory(const std::string& device, std::size_t free, std::size_t total) {
  if (free >= kLeastFree) return;
  throw Error(ErrorCode::ResourceExhausted, device, mebibytes(kLeastFree) + " of its memory are expected to be free",
              {{"free", mebibytes(free)}, {"total", mebibytes(total)}},
              "End other programs that use it (nvidia-smi names them), or place the work on CPU:0.");
}

}  // namespace cohort::cuda
