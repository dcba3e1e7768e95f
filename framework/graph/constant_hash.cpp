#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cohort/core/random.h"
#include "cohort/core/tensor.h"
#include "cohort/graph/graph_proto.h"

namespace cohort {
namespace {

thread_local ConstantHashScope* innermost_hash_scope = nullptr;

// Odd, half of their bits set, unlike one another.
constexpr std::array<std::uint64_t, 8> kHashKeys = {0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 0x8cb92ba72f3d8dd7,
                                                    0xaef17502108ef2d9, 0xf1357aea2e62a9c5, 0xc6a4a7935bd1e995,
                                                    0x94d049bb133111eb, 0xbf58476d1ce4e5b9};

// Four lanes side by side, so that a processor multiplies for one while it waits for another. Each lane takes two words
// into two sums of unlike kinds, one of products and one that costs no more: what cancels in one does not in the other.
class ContentHash {
 public:
  static constexpr std::size_t kBlock = 64;

  void take(const unsigned char* bytes, std::size_t blocks) {
    // Of its own, so that it stays in registers: the bytes might be anything, also this object.
    ContentHash sums = *this;
    for (const unsigned char* end = bytes + blocks * kBlock; bytes != end; bytes += kBlock) {
#pragma GCC unroll 4
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        std::uint64_t first, second;
        std::memcpy(&first, bytes + 16 * lane, sizeof first);
        std::memcpy(&second, bytes + 16 * lane + 8, sizeof second);
        sums.folded_[lane] = fold(sums.folded_[lane] ^ first, second ^ kHashKeys[lane]) + second;
        sums.turned_[lane] = std::rotl(sums.turned_[lane] ^ first, 29) + second;
      }
    }
    *this = sums;
  }
  std::pair<std::uint64_t, std::uint64_t> finish() const {
    std::uint64_t a = kHashKeys[0], b = kHashKeys[1];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      a = hash_combine(a, folded_[lane]);
      b = hash_combine(b, turned_[lane]);
    }
    return {hash_combine(a, b), hash_combine(b, a)};
  }

 private:
  static constexpr std::size_t kLanes = 4;
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  std::array<std::uint64_t, kLanes> folded_{kHashKeys[4], kHashKeys[5], kHashKeys[6], kHashKeys[7]};
  std::array<std::uint64_t, kLanes> turned_{kHashKeys[0], kHashKeys[1], kHashKeys[2], kHashKeys[3]};
};

std::string hash_contents(const Tensor& tensor) {
  const Tensor host = tensor.to_host();
  ContentHash hash;
  // Type and shape first: they say how many bytes follow, so what fills up the last block is no part of any.
  std::array<std::uint64_t, 8> head{};
  static_assert(sizeof head == ContentHash::kBlock);
  head[0] = static_cast<std::uint64_t>(tensor.dtype());
  head[1] = static_cast<std::uint64_t>(tensor.rank());
  for (const std::int64_t size : tensor.shape()) head[2] = hash_combine(head[2], static_cast<std::uint64_t>(size));
  hash.take(reinterpret_cast<const unsigned char*>(head.data()), 1);
  const auto* bytes = static_cast<const unsigned char*>(host.raw());
  const std::size_t count = tensor.bytes(), whole = count - count % ContentHash::kBlock;
  hash.take(bytes, whole / ContentHash::kBlock);
  if (whole < count) {
    std::array<unsigned char, ContentHash::kBlock> last{};
    std::memcpy(last.data(), bytes + whole, count - whole);
    hash.take(last.data(), 1);
  }
  const auto [a, b] = hash.finish();
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return text;
}

}  // namespace

ConstantHashScope::ConstantHashScope() : before_(std::exchange(innermost_hash_scope, this)) {}
ConstantHashScope::~ConstantHashScope() { innermost_hash_scope = before_; }

std::string constant_hash(const Tensor& tensor) {
  if (!innermost_hash_scope) return hash_contents(tensor);
  auto& hashes = innermost_hash_scope->hashes_;
  if (const auto known = hashes.find(tensor.identity()); known != hashes.end()) return known->second.second;
  std::string hash = hash_contents(tensor);
  hashes.emplace(tensor.identity(), std::pair(tensor, hash));
  return hash;
}

}  // namespace cohort
