#include "cohort/core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define COHORT_CRC_TARGET __attribute__((target("+crc")))
#elif defined(__x86_64__)
#include <nmmintrin.h>
#define COHORT_CRC_TARGET __attribute__((target("sse4.2")))
#endif

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "sums are taken over little-endian words");

constexpr std::array<std::uint32_t, 256> byte_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? 0x82f63b78u : 0u);
    table[byte] = rest;
  }
  return table;
}
constexpr auto kByteTable = byte_table();

std::uint32_t append_byte(std::uint32_t rest, unsigned char byte) {
  return (rest >> 8) ^ kByteTable[(rest ^ byte) & 0xffu];
}

#ifdef COHORT_CRC_TARGET

#if defined(__aarch64__)
bool has_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
COHORT_CRC_TARGET inline std::uint32_t append_word(std::uint32_t rest, std::uint64_t word) {
  return __crc32cd(rest, word);
}
#else
bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }
COHORT_CRC_TARGET inline std::uint32_t append_word(std::uint32_t rest, std::uint64_t word) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(rest, word));
}
#endif

const bool kHasInstruction = has_instruction();

inline std::uint64_t word_at(const unsigned char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// What appending kLane zero bytes does to a sum. It is linear, so four table look-ups do it.
class ZeroLane {
 public:
  explicit ZeroLane(std::size_t lane) {
    std::array<std::uint32_t, 32> of_bit{};
    for (int bit = 0; bit < 32; ++bit) {
      std::uint32_t rest = 1u << bit;
      for (std::size_t i = 0; i < lane; ++i) rest = append_byte(rest, 0);
      of_bit[static_cast<std::size_t>(bit)] = rest;
    }
    for (std::size_t byte = 0; byte < 4; ++byte) {
      for (std::size_t value = 0; value < 256; ++value) {
        std::uint32_t sum = 0;
        for (std::size_t bit = 0; bit < 8; ++bit) {
          if (value >> bit & 1) sum ^= of_bit[8 * byte + bit];
        }
        tables_[byte][value] = sum;
      }
    }
  }
  std::uint32_t operator()(std::uint32_t rest) const {
    return tables_[0][rest & 0xff] ^ tables_[1][rest >> 8 & 0xff] ^ tables_[2][rest >> 16 & 0xff] ^
           tables_[3][rest >> 24];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> tables_;
};

constexpr std::size_t kLong = 2048, kShort = 128;

// The instruction takes a few cycles but a new one can start in each: three lanes side by side keep it busy.
template <bool kCopy>
COHORT_CRC_TARGET std::uint32_t append_lanes(std::uint32_t rest, unsigned char*& target, const unsigned char*& bytes,
                                             std::size_t& count, std::size_t lane, const ZeroLane& zeros) {
  while (count >= 3 * lane) {
    std::uint32_t second = 0, third = 0;
    for (std::size_t i = 0; i < lane; i += 8) {
      const std::uint64_t words[] = {word_at(bytes + i), word_at(bytes + lane + i), word_at(bytes + 2 * lane + i)};
      rest = append_word(rest, words[0]);
      second = append_word(second, words[1]);
      third = append_word(third, words[2]);
      if constexpr (kCopy) {
        for (std::size_t k = 0; k < 3; ++k) std::memcpy(target + k * lane + i, &words[k], 8);
      }
    }
    rest = zeros(zeros(rest) ^ second) ^ third;
    if constexpr (kCopy) target += 3 * lane;
    bytes += 3 * lane;
    count -= 3 * lane;
  }
  return rest;
}

template <bool kCopy>
COHORT_CRC_TARGET std::uint32_t sum_by_instruction(std::uint32_t before, void* to, const void* from,
                                                   std::size_t count) {
  static const ZeroLane long_zeros(kLong), short_zeros(kShort);
  auto* target = static_cast<unsigned char*>(to);
  const auto* bytes = static_cast<const unsigned char*>(from);
  std::uint32_t rest = ~before;
  rest = append_lanes<kCopy>(rest, target, bytes, count, kLong, long_zeros);
  rest = append_lanes<kCopy>(rest, target, bytes, count, kShort, short_zeros);
  if (kCopy && count > 0) std::memcpy(target, bytes, count);
  for (; count >= 8; bytes += 8, count -= 8) rest = append_word(rest, word_at(bytes));
  for (; count > 0; ++bytes, --count) rest = append_byte(rest, *bytes);
  return ~rest;
}

#endif

}  // namespace

std::uint32_t crc32c_extend_portable(std::uint32_t before, const void* data, std::size_t count) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint32_t rest = ~before;
  for (std::size_t i = 0; i < count; ++i) rest = append_byte(rest, bytes[i]);
  return ~rest;
}

std::uint32_t crc32c_extend(std::uint32_t before, const void* bytes, std::size_t count) {
#ifdef COHORT_CRC_TARGET
  if (kHasInstruction) return sum_by_instruction<false>(before, nullptr, bytes, count);
#endif
  return crc32c_extend_portable(before, bytes, count);
}

std::uint32_t crc32c_copy(std::uint32_t before, void* target, const void* bytes, std::size_t count) {
#ifdef COHORT_CRC_TARGET
  if (kHasInstruction) return sum_by_instruction<true>(before, target, bytes, count);
#endif
  if (count > 0) std::memcpy(target, bytes, count);
  return crc32c_extend_portable(before, bytes, count);
}

std::uint32_t crc32c(std::string_view bytes) { return crc32c_extend(0, bytes.data(), bytes.size()); }

}  // namespace cohort
