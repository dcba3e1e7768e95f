#include "cohort/kernels/cpu/string_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr std::uint64_t kA = 0xc3a5c85c97cb3127u, kB = 0xb492b66fbe98f273u, kC = 0x9ae16a3b2f90404fu;

template <class Word>
std::uint64_t word_at(const char* text) {
  Word word;
  std::memcpy(&word, text, sizeof word);
  return word;
}
std::uint64_t word64(const char* text) { return word_at<std::uint64_t>(text); }
std::uint64_t word32(const char* text) { return word_at<std::uint32_t>(text); }
std::uint64_t byte_at(const char* text) { return static_cast<unsigned char>(*text); }
std::uint64_t turn(std::uint64_t x, int bits) { return std::rotr(x, bits); }
std::uint64_t fold(std::uint64_t x) { return x ^ (x >> 47); }

std::uint64_t mix(std::uint64_t u, std::uint64_t v, std::uint64_t factor) {
  const std::uint64_t a = fold((u ^ v) * factor);
  return fold((v ^ a) * factor) * factor;
}

std::uint64_t hash_to_16(const char* text, std::size_t length) {
  if (length >= 8) {
    const std::uint64_t factor = kC + length * 2, a = word64(text) + kC, b = word64(text + length - 8);
    return mix(turn(b, 37) * factor + a, (turn(a, 25) + b) * factor, factor);
  }
  if (length >= 4) {
    return mix(length + (word32(text) << 3), word32(text + length - 4), kC + length * 2);
  }
  if (length == 0) return kC;
  const std::uint64_t y = byte_at(text) + (byte_at(text + (length >> 1)) << 8);
  const std::uint64_t z = length + (byte_at(text + length - 1) << 2);
  return fold(y * kC ^ z * kA) * kC;
}

std::uint64_t hash_to_32(const char* text, std::size_t length) {
  const std::uint64_t factor = kC + length * 2;
  const std::uint64_t a = word64(text) * kB, b = word64(text + 8);
  const std::uint64_t c = word64(text + length - 8) * factor, d = word64(text + length - 16) * kC;
  return mix(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + kC, 18) + c, factor);
}

std::uint64_t hash_to_64(const char* text, std::size_t length) {
  const std::uint64_t factor = kC + length * 2;
  const std::uint64_t a = word64(text) * kC, b = word64(text + 8);
  const std::uint64_t c = word64(text + length - 8) * factor, d = word64(text + length - 16) * kC;
  const std::uint64_t y = turn(a + b, 43) + turn(c, 30) + d, z = mix(y, a + turn(b + kC, 18) + c, factor);
  const std::uint64_t e = word64(text + 16) * factor, f = word64(text + 24);
  const std::uint64_t g = (y + word64(text + length - 32)) * factor, h = (z + word64(text + length - 24)) * factor;
  return mix(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, factor);
}

struct Pair {
  std::uint64_t first = 0, second = 0;
};

// Takes 32 bytes into a pair of words.
Pair take_32(const char* text, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t last = word64(text + 24);
  a += word64(text);
  b = turn(b + a + last, 21);
  const std::uint64_t start = a;
  a += word64(text + 8) + word64(text + 16);
  return {a + last, b + turn(a, 44) + start};
}

struct LongState {
  std::uint64_t x, y, z;
  Pair v, w;

  // Takes 64 bytes; the last round has another factor and weighs what came before.
  void take(const char* text, std::uint64_t factor, std::uint64_t weight) {
    x = turn(x + y + v.first + word64(text + 8), 37) * factor;
    y = turn(y + v.second + word64(text + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + word64(text + 40);
    z = turn(z + w.first, 33) * factor;
    v = take_32(text, v.second * factor, x + w.first);
    w = take_32(text + 32, z + w.second, y + word64(text + 16));
    std::swap(z, x);
  }
};

std::uint64_t hash_long(const char* text, std::size_t length) {
  constexpr std::uint64_t kSeed = 81;
  LongState state{kSeed, kSeed * kB + 113, 0, {}, {}};
  state.z = fold(state.y * kC + 113) * kC;
  state.x = state.x * kC + word64(text);
  const std::size_t rest = (length - 1) & 63;
  const char* end = text + (length - 1) / 64 * 64;
  for (; text != end; text += 64) state.take(text, kB, 1);
  const std::uint64_t factor = kB + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(end + rest - 63, factor, 9);
  return mix(mix(state.v.first, state.w.first, factor) + fold(state.y) * kA + state.z,
             mix(state.v.second, state.w.second, factor) + state.x, factor);
}

struct SipState {
  std::uint64_t a, b, c, d;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b;
      a += d;
      b = std::rotl(b, 17) ^ c;
      d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  }
  void take(std::uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
};

}  // namespace

std::uint64_t fingerprint64(std::string_view text) {
  const std::size_t length = text.size();
  if (length <= 16) return hash_to_16(text.data(), length);
  if (length <= 32) return hash_to_32(text.data(), length);
  if (length <= 64) return hash_to_64(text.data(), length);
  return hash_long(text.data(), length);
}

std::uint64_t siphash(std::string_view text, std::uint64_t key_0, std::uint64_t key_1) {
  SipState state{0x736f6d6570736575u ^ key_0, 0x646f72616e646f6du ^ key_1, 0x6c7967656e657261u ^ key_0,
                 0x7465646279746573u ^ key_1};
  const std::size_t whole = text.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) state.take(word64(text.data() + i));
  std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
  for (std::size_t i = whole; i < text.size(); ++i) last |= byte_at(text.data() + i) << (8 * (i - whole));
  state.take(last);
  state.c ^= 0xff;
  state.rounds(4);
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace cohort
