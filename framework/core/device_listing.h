#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// A device of this machine.
struct PhysicalDevice {
  // "GPU:0"
  std::string name;
  // "CPU" or "GPU".
  std::string device_type;
  // "NVIDIA H200"
  std::string model = {};
  // Of its instructions: a GPU's compute capability, "9.0", the level of the CPU that kernels are taken from, "avx2".
  std::string capability = {};
  // Threads that compute on a CPU, multiprocessors of a GPU.
  int processors = 0;
  // Bytes of its memory.
  std::size_t memory_total = 0;
  // Those that nobody uses; only list_devices() asks a GPU, which that costs time and memory.
  std::size_t memory_free = 0;
  // Why it cannot be used; empty where it can.
  std::string problem = {};
};

// A library that the kernels of a GPU need.
struct DeviceLibrary {
  // "cuDNN"
  std::string name;
  // "9.14.0"; empty where it is not found.
  std::string version = {};
  // Why it cannot be used; empty where it can.
  std::string problem = {};
};

// All that a machine has to compute on.
struct DeviceListing {
  // CPUs first.
  std::vector<PhysicalDevice> devices;
  // Version of the GPUs' driver, "580.65.06"; empty where there is none.
  std::string driver = {};
  // The newest CUDA that the driver serves, "13.0"; empty where there is no driver.
  std::string driver_cuda = {};
  // The CUDA that kernels were compiled for; empty where none were.
  std::string runtime_cuda = {};
  // What kernels of a GPU need beside the driver.
  std::vector<DeviceLibrary> libraries = {};
  // Why no GPU can be used; empty where one can.
  std::string no_gpu = {};
};

// Everything that can be found out about the machine's devices; never throws for want of a device. Thread-safe, as is
// the next one.
DeviceListing list_devices();
// The devices of a type, "CPU" or "GPU"; all of them for an empty one. Those that cannot be used are left out.
std::vector<PhysicalDevice> list_physical_devices(std::string_view device_type = {});

// Adds devices of one type to a listing; `thorough`: libraries and free memory, too.
using DeviceLister = void (*)(DeviceListing& listing, bool thorough);
// For the library that brings a type of device; true, so that it can initialize a static variable.
bool register_device_lister(const std::string& device_type, DeviceLister lister);

}  // namespace cohort
