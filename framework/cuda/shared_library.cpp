#include "cohort/cuda/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::cuda {
namespace {

using std::filesystem::path;

// The folder of the library that this function is in.
path own_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  return path(info.dli_fname).parent_path();
}

std::vector<path> folders() {
  std::vector<path> found = {"", own_folder()};
  std::vector<path> toolkits = {"/usr/local/cuda"};
  if (const char* given = std::getenv("CUDA_PATH")) toolkits.insert(toolkits.begin(), given);
  for (const path& toolkit : toolkits) {
    found.push_back(toolkit / "lib64");
    found.push_back(toolkit / "lib");
  }
  return found;
}

// What brings a library; those of the driver come with it.
std::string package_of(const std::string& name) {
  if (name.starts_with("libcudnn")) return "NVIDIA's cuDNN 9 for CUDA 13; pip's nvidia-cudnn-cu13";
  if (name.starts_with("libcublas")) return "NVIDIA's CUDA toolkit 13; pip's nvidia-cublas";
  if (name.starts_with("libnccl")) return "NVIDIA's NCCL 2 for CUDA 13; pip's nvidia-nccl-cu13";
  if (name.starts_with("libnvrtc")) return "NVIDIA's CUDA toolkit 13; pip's nvidia-cuda-nvrtc";
  return "NVIDIA's CUDA toolkit 13";
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& name, const std::string& needed_for) : name_(name) {
  std::string reason;
  for (const path& folder : folders()) {
    handle_ = ::dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    const char* said = ::dlerror();
    // What the loader says of the plain name tells most, unless a file was found and is broken.
    if (said && (reason.empty() || std::filesystem::exists(folder / name))) reason = said;
  }
  const auto folder_text = [](const path& folder) { return folder.empty() ? "those of the loader" : folder.string(); };
  throw not_found("GPU", name + " is expected, which " + needed_for + " need",
                  {{"loader says", reason}, {"folders", join(folders(), folder_text)}},
                  "Install it (" + package_of(name) + "), or name its folder in LD_LIBRARY_PATH.");
}

void* SharedLibrary::address(const char* symbol) const {
  if (void* found = ::dlsym(handle_, symbol)) return found;
  throw not_found("GPU", "a function is expected in " + name_, {{"function", symbol}}, "Install CUDA 13's libraries.");
}

}  // namespace cohort::cuda
