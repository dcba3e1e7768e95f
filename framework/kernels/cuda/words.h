#pragma once

#include <cstddef>
#include <cstdint>

#include "cohort/kernels/cuda/element.h"

namespace cohort::kernels::cuda {

// Words that a thread of a copy reads before it writes the first.
constexpr int kWordsOfThread = 4;

// Calls `visit(Type<Word>{})` with a type of 1, 2, 4, 8 or 16 bytes that is moved by one access.
template <class Visit>
decltype(auto) visit_word(std::size_t bytes, Visit&& visit) {
  return bytes == 16 ? visit(Type<uint4>{}) : visit_bytes(bytes, visit);
}

// Calls `visit(Type<Index>{})` with the type in which positions are computed.
template <class Visit>
decltype(auto) visit_index_width(bool narrow, Visit&& visit) {
  return narrow ? visit(Type<std::int32_t>{}) : visit(Type<std::int64_t>{});
}

inline bool is_aligned_to(const void* memory, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(memory) % bytes == 0;
}

}  // namespace cohort::kernels::cuda
