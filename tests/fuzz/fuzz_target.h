#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cohort/core/error.h"

namespace cohort::fuzz {

// Reads bytes from outside: a clear refusal is as good as a result. Any other exception, and whatever the address
// sanitizer sees, ends the fuzzer.
template <class Read>
int read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const Error&) {
  }
  return 0;
}

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

// Ends the fuzzer: what was read does not hold together.
inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace cohort::fuzz
