#include <algorithm>
#include <cstring>
#include <string>

#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/files/crc32c.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace cohort;
namespace rpc = cohort::distribute::rpc;

// Hands over a chunk in pieces of that many bytes; those of odd sizes are put in their places.
bool give_chunk(rpc::MessageReader& reader, const std::string& chunk, std::size_t piece) {
  reader.begin_chunk(chunk.size());
  for (std::size_t at = 0; at < chunk.size();) {
    const std::span<char> room = reader.room();
    const bool in_place = piece % 2 != 0 && !room.empty();
    const std::size_t count = std::min(piece, in_place ? room.size() : chunk.size() - at);
    if (in_place) {
      fuzz::require(room.size() <= chunk.size() - at);
      std::memcpy(room.data(), chunk.data() + at, count);
      reader.took(count);
    } else {
      reader.take(chunk.data() + at, count);
    }
    at += count;
  }
  const bool complete = reader.end_chunk();
  for (std::size_t at = 0; at < chunk.size() && reader.wants_again(); at += piece) {
    reader.take_again(chunk.data() + at, std::min(piece, chunk.size() - at));
  }
  return complete;
}

// The payload behind a header that fits it, as an honest peer would send it.
std::string chunk_of(std::string_view payload, std::uint32_t number, std::uint64_t total) {
  rpc::wire::ChunkHeader header;
  header.number = number;
  header.total = total;
  std::string chunk(reinterpret_cast<const char*>(&header), sizeof header);
  chunk += payload;
  const std::uint32_t sum =
      crc32c_extend(0, chunk.data() + rpc::wire::kUnsummedHeader, chunk.size() - rpc::wire::kUnsummedHeader);
  std::memcpy(chunk.data() + offsetof(rpc::wire::ChunkHeader, crc), &sum, sizeof sum);
  return chunk;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 2) return -1;
  const std::size_t piece = std::size_t{1} + bytes[0], cut = count * bytes[1] / 256;
  const std::string_view payload = fuzz::text_of(bytes + 2, count - 2);
  fuzz::read_or_refuse([&] {
    rpc::MessageReader reader;
    give_chunk(reader, std::string(payload), piece);
  });
  return fuzz::read_or_refuse([&] {
    rpc::MessageReader reader;
    const std::string_view first = payload.substr(0, cut), second = payload.substr(std::min(cut, payload.size()));
    bool complete = false;
    std::uint32_t number = 0;
    for (const std::string_view part : {first, second}) {
      if (!part.empty()) complete = give_chunk(reader, chunk_of(part, number++, payload.size()), piece);
    }
    if (!complete) return;
    distribute::Message message;
    reader.give(message);
    for (const Tensor& part : message.parts) {
      if (part.defined()) fuzz::require(part.shape().fully_known());
    }
  });
}
