#include "cohort/cuda/loaded_kernel.h"

#include <map>
#include <memory>
#include <mutex>

#include "cohort/cuda/check.h"
#include "cohort/cuda/compiled_program.h"

namespace cohort::cuda {
namespace {

struct LoadedProgram {
  std::once_flag once;
  cudaLibrary_t library = nullptr;
};

// By architecture and text. Others may look for theirs while one is compiled.
LoadedProgram& program_of(const std::string& text, int architecture) {
  static auto* mutex = new std::mutex;
  static auto* programs = new std::map<std::pair<int, std::string>, std::unique_ptr<LoadedProgram>>;
  std::lock_guard lock(*mutex);
  std::unique_ptr<LoadedProgram>& program = (*programs)[{architecture, text}];
  if (!program) program = std::make_unique<LoadedProgram>();
  return *program;
}

}  // namespace

LoadedKernel loaded_kernel(const std::string& text, const char* name, const CudaDevice& device) {
  device.make_current();
  LoadedProgram& program = program_of(text, device.architecture());
  std::call_once(program.once, [&] {
    const std::string code = compiled_program(text, device.architecture());
    check(cudaLibraryLoadData(&program.library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  });
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, program.library, name));
  // Now and not at its first launch, which may be recorded.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel));
  return kernel;
}

}  // namespace cohort::cuda
