#include "cohort/cuda/compiled_program.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cohort/cuda/nvrtc.h"
#include "cohort/cuda/program_headers.h"
#include "cohort/files/crc32c.h"

namespace cohort::cuda {
namespace {

constexpr char kMagic[] = "cohort program1\n";

// FNV-1a.
std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

std::string in_hex(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

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

// A file is: kMagic, the lengths of key and code, the code's CRC-32C, the key, the code.
struct Preamble {
  char magic[sizeof kMagic - 1];
  std::uint64_t key_bytes, code_bytes, checksum;
};

// The code in a file for this very key; empty when there is none, or it is damaged.
std::string read_code(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Preamble preamble;
  if (bytes.size() < sizeof preamble) return {};
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (std::memcmp(preamble.magic, kMagic, sizeof preamble.magic) != 0 || preamble.key_bytes != key.size() ||
      preamble.code_bytes != bytes.size() - sizeof preamble - key.size() ||
      bytes.compare(sizeof preamble, key.size(), key) != 0) {
    return {};
  }
  std::string code = bytes.substr(sizeof preamble + key.size());
  return crc32c(code) == preamble.checksum ? code : std::string();
}

// A folder that cannot be written to costs time in the next process, nothing else.
void write_code(const std::filesystem::path& path, const std::string& key, const std::string& code) {
  static std::atomic<int> number{0};
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path temporary =
      path.string() + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(number++);
  Preamble preamble{{}, key.size(), code.size(), crc32c(code)};
  std::memcpy(preamble.magic, kMagic, sizeof preamble.magic);
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&preamble), sizeof preamble);
    file << key << code;
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (error) std::filesystem::remove(temporary, error);
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
  const std::string key = key_of(text, architecture);
  const std::filesystem::path path = std::filesystem::path(folder) / (in_hex(hash_of(key)) + ".cubin");
  std::string code = read_code(path, key);
  if (code.empty()) {
    code = Nvrtc::instance().compile(text, program_headers(), architecture);
    write_code(path, key, code);
  }
  return code;
}

}  // namespace cohort::cuda
