#include "cohort/cuda/nvrtc.h"

#include <vector>

#include "cohort/core/error.h"

namespace cohort::cuda {

const Nvrtc& Nvrtc::instance() {
  static const auto* loaded = new Nvrtc;
  return *loaded;
}

Nvrtc::Nvrtc() : library_(kNvrtcLibrary, "fused kernels of a GPU") {
  library_.find("nvrtcVersion", get_version_);
  library_.find("nvrtcGetErrorString", error_string_);
  library_.find("nvrtcCreateProgram", create_);
  library_.find("nvrtcDestroyProgram", destroy_);
  library_.find("nvrtcCompileProgram", compile_);
  library_.find("nvrtcGetCUBINSize", code_size_);
  library_.find("nvrtcGetCUBIN", code_);
  library_.find("nvrtcGetProgramLogSize", log_size_);
  library_.find("nvrtcGetProgramLog", log_);
  int major = 0, minor = 0;
  get_version_(&major, &minor);
  version_ = std::to_string(major) + "." + std::to_string(minor);
}

std::string Nvrtc::compile(const std::string& text, std::span<const ProgramHeader> headers, int architecture) const {
  std::vector<const char*> names, texts;
  for (const ProgramHeader& header : headers) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  struct Owned {
    const Nvrtc& nvrtc;
    Program* program = nullptr;
    ~Owned() {
      if (program) nvrtc.destroy_(&program);
    }
  } owned{*this};
  auto check = [&](Result result) {
    if (result == 0) return;
    std::string log;
    std::size_t bytes = 0;
    if (owned.program && log_size_(owned.program, &bytes) == 0 && bytes > 1) {
      log.resize(bytes);
      log_(owned.program, log.data());
      log.pop_back();  // its final zero
    }
    throw internal_error("NVRTC", "a program that compiles is expected",
                         {{"error", error_string_(result)}, {"log", log}, {"program", text}});
  };
  check(
      create_(&owned.program, text.c_str(), "fused.cu", static_cast<int>(headers.size()), texts.data(), names.data()));
  const std::string target = "--gpu-architecture=sm_" + std::to_string(architecture);
  const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
  check(compile_(owned.program, static_cast<int>(std::size(options)), options));
  std::size_t bytes = 0;
  check(code_size_(owned.program, &bytes));
  std::string code(bytes, '\0');
  check(code_(owned.program, code.data()));
  return code;
}

}  // namespace cohort::cuda
