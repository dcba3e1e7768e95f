#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/index_math.h"

namespace cohort::kernels::cuda {

// Rows that are moved as they are, in words as wide as their size allows.
struct RowWords {
  RowWords(std::int64_t row_bytes, std::size_t element_bytes) : row_bytes(row_bytes), element_bytes(element_bytes) {
    while (word_bytes > 1 && row_bytes % static_cast<std::int64_t>(word_bytes) != 0) word_bytes /= 2;
  }

  // Calls `visit(Type<Word>{}, words of a row)` with the widest word that the memory's alignment allows.
  template <class Visit>
  void visit(const void* from, const void* to, Visit&& visit) const {
    const std::size_t bytes = both_aligned(word_bytes, from, to) ? word_bytes : element_bytes;
    const std::int64_t words = row_bytes / static_cast<std::int64_t>(bytes);
    if (bytes == sizeof(uint4)) {
      visit(Type<uint4>{}, words);
    } else {
      visit_bytes(bytes, [&](auto word) { visit(word, words); });
    }
  }

  std::int64_t row_bytes;
  std::size_t element_bytes, word_bytes = sizeof(uint4);
};

}  // namespace cohort::kernels::cuda
