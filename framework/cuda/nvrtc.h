#pragma once

#include <span>
#include <string>

#include "cohort/cuda/shared_library.h"

namespace cohort::cuda {

// A header that programs include by its name.
struct ProgramHeader {
  const char* name;
  const char* text;
};

// NVIDIA's compiler for programs that are made at run time. Needs neither a GPU nor a driver. Thread-safe.
class Nvrtc {
 public:
  // Loaded on first use; throws NotFound when it is not installed.
  static const Nvrtc& instance();

  // "13.0"
  const std::string& version() const { return version_; }
  // The machine code of a program for an architecture, 90 for Hopper; results as of kernels compiled ahead of time.
  // Throws with the compiler's messages.
  std::string compile(const std::string& text, std::span<const ProgramHeader> headers, int architecture) const;

 private:
  Nvrtc();

  // As nvrtc.h declares them; it is not part of every toolkit that compiles kernels.
  struct Program;
  using Result = int;

  SharedLibrary library_;
  std::string version_;
  Result (*get_version_)(int* major, int* minor) = nullptr;
  const char* (*error_string_)(Result result) = nullptr;
  Result (*create_)(Program** program, const char* text, const char* name, int headers, const char* const* texts,
                    const char* const* names) = nullptr;
  Result (*destroy_)(Program** program) = nullptr;
  Result (*compile_)(Program* program, int options, const char* const* texts) = nullptr;
  Result (*code_size_)(Program* program, std::size_t* bytes) = nullptr;
  Result (*code_)(Program* program, char* bytes) = nullptr;
  Result (*log_size_)(Program* program, std::size_t* bytes) = nullptr;
  Result (*log_)(Program* program, char* bytes) = nullptr;
};

}  // namespace cohort::cuda
