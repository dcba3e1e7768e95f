#pragma once

#include <string>

namespace cohort::cuda {

// Names of the libraries.
inline constexpr const char* kCublasLtLibrary = "libcublasLt.so.13";
inline constexpr const char* kCudnnLibrary = "libcudnn.so.9";
inline constexpr const char* kNvrtcLibrary = "libnvrtc.so.13";
inline constexpr const char* kNcclLibrary = "libnccl.so.2";

// A library of NVIDIA's that is loaded when it is first needed and then stays: found by its name as the loader finds
// libraries, beside libcohort_cuda, in CUDA_PATH or where the toolkit installs itself. Throws NotFound, saying what
// needs it and where it was looked for.
class SharedLibrary {
 public:
  SharedLibrary(const std::string& name, const std::string& needed_for);

  // One of its functions; throws NotFound.
  template <class Function>
  void find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(address(symbol));
  }

  // What the loader calls it.
  void* handle() const { return handle_; }

 private:
  void* address(const char* symbol) const;

  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace cohort::cuda
