#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cohort/distribute/protocol/message.h"

// How a message lies on a byte stream. It travels in chunks, each a header and a piece of the payload; the payload is
//   prologue | specs of the parts | meta | bytes of the parts, each part starting at a multiple of kPartAlignment
// so that the last section can be received into one buffer as it is.
namespace cohort::distribute::rpc::wire {

static_assert(std::endian::native == std::endian::little, "messages are little endian");

inline constexpr std::uint32_t kMagic = 0x54524843;  // "CHRT"
// At most, header included: what gRPC moves fastest.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
inline constexpr std::size_t kPartAlignment = 64;
// Parts below are packed together with the rest, others are sent from where they lie.
inline constexpr std::size_t kSmallPart = std::size_t{8} << 10;
// Protobuf's own limit is 2 GiB.
inline constexpr std::uint64_t kMaxMetaBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMaxSpecBytes = std::uint64_t{64} << 20;

// Not larger than what a gRPC slice holds without memory of its own.
struct [[gnu::packed]] ChunkHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t crc = 0;     // CRC-32C of the header after this field and of the chunk's payload
  std::uint32_t number = 0;  // from 0 in each message
  std::uint64_t total = 0;   // payload bytes of all chunks
};
static_assert(sizeof(ChunkHeader) == 20);
inline constexpr std::size_t kUnsummedHeader = 8;  // magic and sum

struct Prologue {
  Head head;
  std::uint32_t status = 0;  // of a reply: 0, or 1 + the ErrorCode of what the task threw; meta is then its text
  std::uint32_t parts = 0;
  std::uint64_t spec_bytes = 0;
  std::uint64_t meta_bytes = 0;
  std::uint64_t data_bytes = 0;
};
static_assert(std::is_trivially_copyable_v<Prologue> && sizeof(Head) == 80 && sizeof(Prologue) == 112);
static_assert(std::has_unique_object_representations_v<Prologue>, "no byte of a message is left unset");

// Followed by the sizes of the axes, as std::int64_t.
struct PartSpec {
  std::uint8_t dtype = 0;
  std::uint8_t rank = 0;
  std::uint16_t reserved = 0;
  std::uint32_t reserved_too = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(PartSpec) == 16);
// A part without a value: Tensor().
inline constexpr std::uint8_t kUndefined = 255;

// A part of strings is their lengths as std::uint64_t, then their bytes.

inline constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + (kPartAlignment - 1)) & ~std::uint64_t{kPartAlignment - 1};
}

}  // namespace cohort::distribute::rpc::wire
