#include "cohort/files/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#define COHORT_CRC_TARGET __attribute__((target("+crypto+crc")))
#elif defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#define COHORT_CRC_TARGET __attribute__((target("sse4.2,pclmul")))
#endif

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "sums are taken over little-endian words");

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // its coefficients from the highest, as all of them here

constexpr std::uint32_t times_x(std::uint32_t rest) { return (rest >> 1) ^ (rest & 1 ? kPolynomial : 0); }

constexpr std::array<std::uint32_t, 256> byte_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = times_x(rest);
    table[byte] = rest;
  }
  return table;
}
constexpr auto kByteTable = byte_table();

std::uint32_t append_byte(std::uint32_t rest, unsigned char byte) {
  return (rest >> 8) ^ kByteTable[(rest ^ byte) & 0xffu];
}

#ifdef COHORT_CRC_TARGET

// x^power modulo the polynomial, one place up: a product of two numbers written from the highest coefficient is one
// place too low.
constexpr std::uint64_t power_of_x(int power) {
  std::uint32_t rest = 0x80000000u;
  while (power-- > 0) rest = times_x(rest);
  return std::uint64_t{rest} << 1;
}

// Moves a lane of 16 bytes `distance` bits further from the end of the message: factors of its first and second half.
struct Shift {
  constexpr explicit Shift(int distance) : first(power_of_x(distance + 32)), second(power_of_x(distance - 32)) {}
  std::uint64_t first, second;
};

#if defined(__aarch64__)

bool has_instructions() {
  constexpr unsigned long kWanted = HWCAP_CRC32 | HWCAP_PMULL;
  return (getauxval(AT_HWCAP) & kWanted) == kWanted;
}
COHORT_CRC_TARGET inline std::uint32_t append_word(std::uint32_t rest, std::uint64_t word) {
  return __crc32cd(rest, word);
}
using Lane = uint64x2_t;
COHORT_CRC_TARGET inline Lane lane_at(const unsigned char* bytes) { return vreinterpretq_u64_u8(vld1q_u8(bytes)); }
COHORT_CRC_TARGET inline Lane lane_of(std::uint64_t first, std::uint64_t second) { return Lane{first, second}; }
COHORT_CRC_TARGET inline void put(unsigned char* target, Lane lane) { vst1q_u8(target, vreinterpretq_u8_u64(lane)); }
COHORT_CRC_TARGET inline Lane added(Lane a, Lane b) { return veorq_u64(a, b); }
COHORT_CRC_TARGET inline Lane shifted(Lane lane, Lane by) {
  const poly128_t first = vmull_p64(vgetq_lane_u64(lane, 0), vgetq_lane_u64(by, 0));
  const poly128_t second = vmull_high_p64(vreinterpretq_p64_u64(lane), vreinterpretq_p64_u64(by));
  return added(vreinterpretq_u64_p128(first), vreinterpretq_u64_p128(second));
}
COHORT_CRC_TARGET inline std::uint64_t first_half(Lane lane) { return vgetq_lane_u64(lane, 0); }
COHORT_CRC_TARGET inline std::uint64_t second_half(Lane lane) { return vgetq_lane_u64(lane, 1); }

#else

bool has_instructions() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"); }
COHORT_CRC_TARGET inline std::uint32_t append_word(std::uint32_t rest, std::uint64_t word) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(rest, word));
}
using Lane = __m128i;
COHORT_CRC_TARGET inline Lane lane_at(const unsigned char* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
COHORT_CRC_TARGET inline Lane lane_of(std::uint64_t first, std::uint64_t second) {
  return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
}
COHORT_CRC_TARGET inline void put(unsigned char* target, Lane lane) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(target), lane);
}
COHORT_CRC_TARGET inline Lane added(Lane a, Lane b) { return _mm_xor_si128(a, b); }
COHORT_CRC_TARGET inline Lane shifted(Lane lane, Lane by) {
  return added(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11));
}
COHORT_CRC_TARGET inline std::uint64_t first_half(Lane lane) {
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(lane));
}
COHORT_CRC_TARGET inline std::uint64_t second_half(Lane lane) {
  return static_cast<std::uint64_t>(_mm_extract_epi64(lane, 1));
}

#endif

const bool kHasInstructions = has_instructions();

// Eight lanes hide the multiplication's latency; they go through the bytes twice as fast as the sum's own instruction.
constexpr int kLanes = 8;
constexpr std::size_t kBlock = kLanes * sizeof(Lane);

// Multiplying is linear: each lane takes in the block after its own, moved up, until one block is left of them all.
template <bool kCopy>
COHORT_CRC_TARGET std::uint32_t sum_of_blocks(std::uint32_t rest, unsigned char*& target, const unsigned char*& bytes,
                                              std::size_t& count) {
  constexpr Shift kBlockOn(8 * static_cast<int>(kBlock)), kLaneOn(128);
  const Lane block_on = lane_of(kBlockOn.first, kBlockOn.second), lane_on = lane_of(kLaneOn.first, kLaneOn.second);
  const auto next = [&](int i) COHORT_CRC_TARGET {
    const Lane lane = lane_at(bytes + static_cast<std::size_t>(i) * sizeof(Lane));
    if constexpr (kCopy) put(target + static_cast<std::size_t>(i) * sizeof(Lane), lane);
    return lane;
  };
  const auto advance = [&] {
    if constexpr (kCopy) target += kBlock;
    bytes += kBlock;
    count -= kBlock;
  };
  Lane lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = next(i);
  lanes[0] = added(lanes[0], lane_of(rest, 0));
  advance();
  while (count >= kBlock) {
    for (int i = 0; i < kLanes; ++i) lanes[i] = added(shifted(lanes[i], block_on), next(i));
    advance();
  }
  Lane all = lanes[0];
  for (int i = 1; i < kLanes; ++i) all = added(shifted(all, lane_on), lanes[i]);
  return append_word(append_word(0, first_half(all)), second_half(all));
}

template <bool kCopy>
COHORT_CRC_TARGET std::uint32_t sum_by_instruction(std::uint32_t before, void* to, const void* from,
                                                   std::size_t count) {
  auto* target = static_cast<unsigned char*>(to);
  const auto* bytes = static_cast<const unsigned char*>(from);
  std::uint32_t rest = ~before;
  if (count >= kBlock) rest = sum_of_blocks<kCopy>(rest, target, bytes, count);
  if (kCopy && count > 0) std::memcpy(target, bytes, count);
  for (; count >= 8; bytes += 8, count -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    rest = append_word(rest, word);
  }
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
  if (kHasInstructions) return sum_by_instruction<false>(before, nullptr, bytes, count);
#endif
  return crc32c_extend_portable(before, bytes, count);
}

std::uint32_t crc32c_copy(std::uint32_t before, void* target, const void* bytes, std::size_t count) {
#ifdef COHORT_CRC_TARGET
  if (kHasInstructions) return sum_by_instruction<true>(before, target, bytes, count);
#endif
  if (count > 0) std::memcpy(target, bytes, count);
  return crc32c_extend_portable(before, bytes, count);
}

std::uint32_t crc32c(std::string_view bytes) { return crc32c_extend(0, bytes.data(), bytes.size()); }

#undef COHORT_CRC_TARGET

}  // namespace cohort
