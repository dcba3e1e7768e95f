#include "cohort/core/device_module.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>

namespace cohort {
namespace {

// By type of device.
const std::map<std::string, std::string>& module_names() {
  static const auto* names = new std::map<std::string, std::string>{{"GPU", "libcohort_cuda.so"}};
  return *names;
}

// The folder of the library that this function is in.
std::filesystem::path own_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&load_device_module), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::string load(const std::string& name) {
  const std::filesystem::path path = own_folder() / name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "this build of Cohort has no " + name;
  // Its devices and kernels stay known: it is never unloaded.
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {};
  const char* reason = ::dlerror();
  return reason ? reason : name + " could not be loaded";
}

}  // namespace

std::string load_device_module(const std::string& type) {
  static auto* mutex = new std::mutex;
  static auto* outcomes = new std::map<std::string, std::string>;
  const auto name = module_names().find(type);
  if (name == module_names().end()) return "no library brings devices of this type";
  std::lock_guard lock(*mutex);
  auto [outcome, first] = outcomes->try_emplace(type);
  if (first) outcome->second = load(name->second);
  return outcome->second;
}

}  // namespace cohort
