#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cohort {

// Writes an element of 1, 2, 4 or 8 bytes `count` times into memory of the host.
inline void fill_memory(void* target, const void* element, std::size_t element_bytes, std::size_t count) {
  auto fill = [&]<class Word>(Word word) {
    std::memcpy(&word, element, sizeof word);
    std::fill_n(static_cast<Word*>(target), count, word);
  };
  switch (element_bytes) {
    case 1:
      return fill(std::uint8_t{});
    case 2:
      return fill(std::uint16_t{});
    case 4:
      return fill(std::uint32_t{});
    default:
      return fill(std::uint64_t{});
  }
}

}  // namespace cohort
