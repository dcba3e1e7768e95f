#include "cohort/core/kernel.h"

#include <map>
#include <string>

namespace cohort {
namespace {

using KernelTable = std::map<std::pair<std::string, std::string>, KernelMaker, std::less<>>;

KernelTable& kernel_table() {
  static KernelTable* kernels = new KernelTable;
  return *kernels;
}

}  // namespace

bool register_kernel(std::string_view op, std::string_view device_type, KernelMaker maker) {
  return kernel_table().emplace(std::pair{std::string(op), std::string(device_type)}, maker).second;
}

bool has_kernel(std::string_view op, std::string_view device_type) {
  return kernel_table().contains({std::string(op), std::string(device_type)});
}

KernelFn make_kernel(const KernelSpec& spec, std::string_view device_type) {
  auto found = kernel_table().find({std::string(spec.name()), std::string(device_type)});
  if (found == kernel_table().end()) {
    throw unimplemented(spec.name(), "this op has no kernel for the device", {{"device", device_type}},
                        "Place it on the CPU with ch::device(\"CPU:0\").");
  }
  return found->second(spec);
}

}  // namespace cohort
