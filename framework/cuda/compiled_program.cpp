#include "cohort/cuda/compiled_program.h"

#include <cstdlib>

#include "cohort/cuda/kept_file.h"
#include "cohort/cuda/nvrtc.h"
#include "cohort/cuda/program_headers.h"

namespace cohort::cuda {
namespace {

// All that the code depends on.
std::string key_of(const std::string& text, int architecture) {
  static const std::uint64_t headers = [] {
    std::uint64_t hash = hash_of({});
    for (const ProgramHeader& header : program_headers()) hash = hash_of(header.text, hash);
    return hash;
  }();
  return "nvrtc " + Nvrtc::instance().version() + " sm_" + std::to_string(architecture) + " headers " +
         in_hex(headers) + "\n" + text;
}

}  // namespace

std::string cache_folder() {
  const char* given = std::getenv("XDG_CACHE_HOME");
  if (given && *given == '/') return std::string(given) + "/cohort";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.cache/cohort" : std::string();
}

std::string compiled_program(const std::string& text, int architecture) {
  const std::string folder = cache_folder();
  return compiled_program(text, architecture, folder.empty() ? folder : folder + "/programs");
}

std::string compiled_program(const std::string& text, int architecture, const std::string& folder) {
  if (folder.empty()) return Nvrtc::instance().compile(text, program_headers(), architecture);
  constexpr char kEnding[] = ".cubin";
  const std::string key = key_of(text, architecture);
  std::string code = read_kept(folder, key, kEnding);
  if (code.empty()) {
    code = Nvrtc::instance().compile(text, program_headers(), architecture);
    write_kept(folder, key, kEnding, code);
  }
  return code;
}

}  // namespace cohort::cuda
