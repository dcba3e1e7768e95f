#pragma once

#include <algorithm>
#include <cstdint>

namespace cohort::datasets {

// How far ahead of the row at hand fetch_row() is asked for one.
inline constexpr std::int64_t kRowsAhead = 4;

// Lets a row of memory that is read soon come near: rows in random order defeat the hardware's prefetcher.
inline void fetch_row(const char* memory, std::int64_t bytes) {
  constexpr std::int64_t kFetchBytes = 1024, kLineBytes = 64;
  for (std::int64_t i = 0; i < std::min(bytes, kFetchBytes); i += kLineBytes) __builtin_prefetch(memory + i);
}

}  // namespace cohort::datasets
