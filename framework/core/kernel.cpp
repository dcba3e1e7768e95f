#include "cohort/core/kernel.h"

#include <array>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "cohort/core/cpu_level.h"
#include "cohort/core/host_kernel.h"

namespace cohort {
namespace {

// One for each level of the CPU's instruction set, empty where the level has none.
using KernelMakers = std::array<KernelMaker, kMaxCpuLevels>;
using KernelTable = std::map<std::pair<std::string, std::string>, KernelMakers, std::less<>>;

// Libraries that are loaded later add to it while others read.
struct Kernels {
  std::shared_mutex mutex;
  KernelTable table;
};

Kernels& kernels() {
  static auto* instance = new Kernels;
  return *instance;
}

}  // namespace

bool register_kernel(std::string_view op, std::string_view device_type, KernelMaker maker) {
  std::lock_guard lock(kernels().mutex);
  KernelMakers& makers = kernels().table[{std::string(op), std::string(device_type)}];
  KernelMaker& at_level = makers[static_cast<std::size_t>(initialized_cpu_level())];
  if (at_level) return false;
  at_level = maker;
  return true;
}

bool has_kernel(std::string_view op, std::string_view device_type) {
  std::shared_lock lock(kernels().mutex);
  return kernels().table.contains({std::string(op), std::string(device_type)});
}

KernelFn make_kernel(const KernelSpec& spec) {
  const std::string_view device_type = spec.device().kernel_type();
  const int level = taken_cpu_level();
  const KernelMakers* makers = nullptr;
  {
    std::shared_lock lock(kernels().mutex);
    const auto found = kernels().table.find({std::string(spec.name()), std::string(device_type)});
    if (found != kernels().table.end()) makers = &found->second;  // a map's entries stay where they are
  }
  if (!makers && has_kernel(spec.name(), kCPU)) return make_host_kernel(spec);
  if (!makers) {
    throw unimplemented(spec.name(), "this op has no kernel for the device", {{"device", device_type}},
                        "Place it on the CPU with ch::device(\"CPU:0\").");
  }
  for (int i = level; i >= 0; --i) {
    const KernelMaker maker = (*makers)[static_cast<std::size_t>(i)];
    if (!maker) continue;
    if (KernelFn kernel = maker(spec)) return kernel;
  }
  throw unimplemented(spec.name(), "this op has no kernel for inputs of these types", {{"device", device_type}},
                      "Cast them to a type that it takes.");
}

}  // namespace cohort
