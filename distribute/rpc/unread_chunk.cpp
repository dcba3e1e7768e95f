#include "cohort/distribute/rpc/unread_chunk.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/wire.h"
#include "cohort/files/crc32c.h"

namespace cohort::distribute::rpc {
namespace {

// Below, copying costs less than keeping pieces.
constexpr std::uint64_t kSmallestSetAside = std::uint64_t{32} << 10;

// All that comes before the part.
struct Beginning {
  wire::ChunkHeader header;
  wire::Prologue prologue;
  wire::PartSpec spec;
  std::int64_t elements = 0;
};
constexpr std::size_t kInPayload = sizeof(wire::Prologue) + sizeof(wire::PartSpec) + sizeof(std::int64_t);

class UnreadChunk : public UnreadPart {
 public:
  explicit UnreadChunk(std::vector<grpc::Slice> pieces) : pieces_(std::move(pieces)) {
    for (const grpc::Slice& piece : pieces_) left_ += piece.size();
  }

  Beginning read_beginning() {
    Beginning beginning;
    read_value(beginning.header);
    expected_ = beginning.header.crc;
    sum_ = crc32c_extend(0, reinterpret_cast<const char*>(&beginning.header) + wire::kUnsummedHeader,
                         sizeof beginning.header - wire::kUnsummedHeader);
    read_value(beginning.prologue);
    read_value(beginning.spec);
    read_value(beginning.elements);
    return beginning;
  }

  std::size_t left() const override { return left_; }

  void read(std::byte* to, std::size_t count) override {
    read_bytes(to, count);
    if (left_ > 0 || sum_ == expected_) return;
    throw Error(ErrorCode::DataLoss, "Message", "the bytes of a chunk fit their sum",
                {{"sum", sum_}, {"expected", expected_}});
  }

 private:
  template <class Value>
  void read_value(Value& value) {
    read_bytes(reinterpret_cast<std::byte*>(&value), sizeof value);
  }

  void read_bytes(std::byte* to, std::size_t count) {
    while (count > 0) {
      const grpc::Slice& piece = pieces_[piece_];
      const std::size_t part = std::min(count, piece.size() - within_);
      sum_ = crc32c_copy(sum_, to, piece.begin() + within_, part);
      to += part, count -= part, left_ -= part, within_ += part;
      if (within_ < piece.size()) continue;
      pieces_[piece_++] = {};
      within_ = 0;
    }
  }

  std::vector<grpc::Slice> pieces_;
  std::size_t piece_ = 0, within_ = 0, left_ = 0;
  std::uint32_t sum_ = 0, expected_ = 0;
};

bool is_one_part(const Beginning& beginning, std::uint64_t part) {
  const wire::Prologue& prologue = beginning.prologue;
  const wire::PartSpec& spec = beginning.spec;
  return beginning.header.magic == wire::kMagic && beginning.header.number == 0 &&
         beginning.header.total == kInPayload + part && prologue.head.method == Method::Exchange &&
         (prologue.head.flags & kOneWay) != 0 && prologue.parts == 1 &&
         prologue.spec_bytes == sizeof spec + sizeof beginning.elements && prologue.meta_bytes == 0 &&
         prologue.data_bytes == part && spec.dtype == static_cast<std::uint8_t>(DType::UInt8) && spec.rank == 1 &&
         spec.bytes == part && static_cast<std::uint64_t>(beginning.elements) == part;
}

}  // namespace

std::shared_ptr<UnreadPart> set_aside(grpc::ByteBuffer& chunk, Head& head) {
  if (chunk.Length() < sizeof(wire::ChunkHeader) + kInPayload + kSmallestSetAside) return nullptr;
  std::vector<grpc::Slice> pieces;
  if (!chunk.Dump(&pieces).ok()) return nullptr;
  const auto unread = std::make_shared<UnreadChunk>(std::move(pieces));
  const Beginning beginning = unread->read_beginning();
  if (!is_one_part(beginning, unread->left())) return nullptr;
  head = beginning.prologue.head;
  chunk.Clear();
  return unread;
}

}  // namespace cohort::distribute::rpc
