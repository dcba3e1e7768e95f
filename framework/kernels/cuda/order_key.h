#pragma once

#include <cstdint>

#include "cohort/core/dtype.h"

namespace cohort::kernels::cuda {

// Numbers of any type as unsigned words of the same order. Equal numbers, 0 and -0 among them, give equal words; NaN
// comes last, whatever the direction. The type is looked at while the kernel runs: sorting is worth few kernels.
struct OrderKey {
  DType dtype;
  bool descending;

  int bits() const { return static_cast<int>(size_of(dtype)) * 8; }

  __device__ std::uint64_t operator()(const void* memory, std::int64_t at) const {
    switch (dtype) {
      case DType::Bool:
      case DType::UInt8:
        return directed<std::uint8_t>(static_cast<const std::uint8_t*>(memory)[at]);
      case DType::Int8:
        return signed_key(static_cast<const std::uint8_t*>(memory)[at]);
      case DType::Int32:
        return signed_key(static_cast<const std::uint32_t*>(memory)[at]);
      case DType::Int64:
        return signed_key(static_cast<const std::uint64_t*>(memory)[at]);
      case DType::Float16:
        return floating_key<std::uint16_t>(static_cast<const std::uint16_t*>(memory)[at], 0x7c00);
      case DType::BFloat16:
        return floating_key<std::uint16_t>(static_cast<const std::uint16_t*>(memory)[at], 0x7f80);
      case DType::Float64:
        return floating_key<std::uint64_t>(static_cast<const std::uint64_t*>(memory)[at], 0x7ff0000000000000);
      default:
        return floating_key<std::uint32_t>(static_cast<const std::uint32_t*>(memory)[at], 0x7f800000);
    }
  }

 private:
  template <class Word>
  static constexpr Word kSign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));

  template <class Word>
  __device__ Word directed(Word key) const {
    return descending ? static_cast<Word>(~key) : key;
  }
  template <class Word>
  __device__ Word signed_key(Word bits) const {
    return directed<Word>(static_cast<Word>(bits ^ kSign<Word>));
  }
  // Of negative numbers all bits turn around, of others the sign.
  template <class Word>
  __device__ Word floating_key(Word bits, Word infinity) const {
    const Word magnitude = static_cast<Word>(bits & ~kSign<Word>);
    if (magnitude > infinity) return static_cast<Word>(~Word{0});
    if (magnitude == 0) bits = 0;
    return directed<Word>(static_cast<Word>(bits & kSign<Word> ? ~bits : bits | kSign<Word>));
  }
};

// Copies an element of 1, 2, 4 or 8 bytes.
__device__ inline void copy_element(std::size_t bytes, const void* from, std::int64_t from_at, void* to,
                                    std::int64_t to_at) {
  switch (bytes) {
    case 1:
      static_cast<std::uint8_t*>(to)[to_at] = static_cast<const std::uint8_t*>(from)[from_at];
      break;
    case 2:
      static_cast<std::uint16_t*>(to)[to_at] = static_cast<const std::uint16_t*>(from)[from_at];
      break;
    case 4:
      static_cast<std::uint32_t*>(to)[to_at] = static_cast<const std::uint32_t*>(from)[from_at];
      break;
    default:
      static_cast<std::uint64_t*>(to)[to_at] = static_cast<const std::uint64_t*>(from)[from_at];
  }
}

}  // namespace cohort::kernels::cuda
