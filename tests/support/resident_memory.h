#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace cohort::test {

// The address sanitizer keeps freed memory back, 256 MB of it unless told otherwise, to see who still uses it.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::int64_t kFreedAndKept = 300 << 20;
#else
inline constexpr std::int64_t kFreedAndKept = 0;
#endif

// Bytes of memory that this process has in use.
inline std::int64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace cohort::test
