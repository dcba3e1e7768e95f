#include <algorithm>
#include <array>

#include "cohort/core/device_listing.h"
#include "cohort/core/error.h"
#include "cohort/cuda/gpu_requirements.h"
#include "cohort/cuda/shared_library.h"

namespace cohort::cuda {
namespace {

std::string decimal_version(std::size_t version, std::size_t base) {
  return std::to_string(version / (base * base)) + "." + std::to_string(version / base % base) + "." +
         std::to_string(version % base);
}

std::string cudnn_version() {
  std::size_t (*version)() = nullptr;
  SharedLibrary(kCudnnLibrary, "convolutions").find("cudnnGetVersion", version);
  return decimal_version(version(), 100);
}

std::string cublas_lt_version() {
  std::size_t (*version)() = nullptr;
  SharedLibrary(kCublasLtLibrary, "matrix products").find("cublasLtGetVersion", version);
  return decimal_version(version(), 100);
}

std::string nvrtc_version() {
  int (*version)(int* major, int* minor) = nullptr;
  SharedLibrary(kNvrtcLibrary, "fused kernels of a GPU").find("nvrtcVersion", version);
  int major = 0, minor = 0;
  version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

// Of the driver itself, which CUDA's functions do not say; empty where its library for managing GPUs is missing.
std::string driver_version() {
  try {
    const SharedLibrary library("libnvidia-ml.so.1", "listings of GPUs");
    int (*begin)() = nullptr;
    int (*version)(char* text, unsigned int bytes) = nullptr;
    int (*end)() = nullptr;
    library.find("nvmlInit_v2", begin);
    library.find("nvmlSystemGetDriverVersion", version);
    library.find("nvmlShutdown", end);
    std::array<char, 96> text{};
    if (begin() != 0) return {};
    const bool answered = version(text.data(), text.size()) == 0;
    end();
    return answered ? text.data() : "";
  } catch (const Error&) {
    return {};
  }
}

void add_library(DeviceListing& listing, const char* name, std::string (*version)()) {
  DeviceLibrary library{.name = name};
  try {
    library.version = version();
  } catch (const Error& error) {
    library.problem = error.what();
  }
  listing.libraries.push_back(std::move(library));
}

PhysicalDevice listed_gpu(int index, bool thorough) {
  PhysicalDevice gpu{.name = "GPU:" + std::to_string(index), .device_type = "GPU"};
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    (void)cudaGetLastError();
    gpu.problem = cudaGetErrorString(error);
    return gpu;
  }
  gpu.model = properties.name;
  gpu.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  gpu.processors = properties.multiProcessorCount;
  gpu.memory_total = properties.totalGlobalMem;
  gpu.problem = gpu_problem(properties);
  if (!thorough || !gpu.problem.empty()) return gpu;
  int before = 0;
  (void)cudaGetDevice(&before);
  std::size_t total = 0;
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaMemGetInfo(&gpu.memory_free, &total);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    gpu.problem = cudaGetErrorString(error);
  }
  (void)cudaSetDevice(before);
  return gpu;
}

void add_gpus_of_driver(DeviceListing& listing, bool thorough) {
  try {
    const int count = count_gpus();
    for (int index = 0; index < count; ++index) listing.devices.push_back(listed_gpu(index, thorough));
    if (count == 0) listing.no_gpu = "the driver shows none";
  } catch (const Error& error) {
    listing.no_gpu = error.what();
  }
  const auto usable = [](const PhysicalDevice& device) {
    return device.device_type == "GPU" && device.problem.empty();
  };
  if (listing.no_gpu.empty() && std::none_of(listing.devices.begin(), listing.devices.end(), usable)) {
    listing.no_gpu = "none of them can be used";
  }
}

void list_gpus(DeviceListing& listing, bool thorough) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) listing.driver_cuda = cuda_version_text(driver);
  listing.runtime_cuda = cuda_version_text(CUDART_VERSION);
  add_gpus_of_driver(listing, thorough);
  if (!thorough) return;
  if (!listing.driver_cuda.empty()) listing.driver = driver_version();
  add_library(listing, "cuBLASLt", cublas_lt_version);
  add_library(listing, "cuDNN", cudnn_version);
  add_library(listing, "NVRTC", nvrtc_version);
}

[[maybe_unused]] const bool gpu_lister_registered = register_device_lister("GPU", list_gpus);

}  // namespace
}  // namespace cohort::cuda
