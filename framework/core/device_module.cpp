#include "cohort/core/device_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>

namespace cohort {
namespace {

// A library that brings devices, and the driver's, which it loads.
struct DeviceModule {
  std::string name, driver;
};

// By type of device.
const std::map<std::string, DeviceModule>& device_modules() {
  static const auto* modules =
      new std::map<std::string, DeviceModule>{{"GPU", {.name = "libcohort_cuda.so", .driver = "libcuda.so.1"}}};
  return *modules;
}

constexpr const char* kNoModule = "no library brings devices of this type";

// The folder of the library that this function is in.
std::filesystem::path own_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&load_device_module), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::string missing_module(const DeviceModule& module) {
  std::error_code error;
  return std::filesystem::exists(own_folder() / module.name, error) ? "" : "this build of Cohort has no " + module.name;
}

std::string load(const DeviceModule& module) {
  const std::filesystem::path path = own_folder() / module.name;
  if (std::string missing = missing_module(module); !missing.empty()) return missing;
  // Its devices and kernels stay known: it is never unloaded.
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {};
  const char* reason = ::dlerror();
  return reason ? reason : module.name + " could not be loaded";
}

}  // namespace

std::string load_device_module(const std::string& type) {
  static auto* mutex = new std::mutex;
  static auto* outcomes = new std::map<std::string, std::string>;
  const auto module = device_modules().find(type);
  if (module == device_modules().end()) return kNoModule;
  std::lock_guard lock(*mutex);
  auto [outcome, first] = outcomes->try_emplace(type);
  if (first) outcome->second = load(module->second);
  return outcome->second;
}

std::string missing_for_devices(const std::string& type) {
  const auto module = device_modules().find(type);
  if (module == device_modules().end()) return kNoModule;
  if (std::string missing = missing_module(module->second); !missing.empty()) return missing;
  // It stays loaded: whoever asks is about to use it.
  if (::dlopen(module->second.driver.c_str(), RTLD_LAZY | RTLD_LOCAL)) return {};
  const char* reason = ::dlerror();
  return "there is no driver (" + (reason ? reason : module->second.driver + " could not be loaded") + ")";
}

}  // namespace cohort
