#include "cohort/distribute/rpc/message_writer.h"

#include <algorithm>
#include <cstring>

#include "cohort/files/crc32c.h"

namespace cohort::distribute::rpc {
namespace {

void release_buffer(void* buffer) { static_cast<Buffer*>(buffer)->release(); }

// A slice over memory of a buffer that keeps it.
grpc::Slice slice_over(const Owned<Buffer>& buffer, void* memory, std::size_t bytes) {
  Buffer* owner = buffer.get();
  owner->retain();
  return grpc::Slice(memory, bytes, release_buffer, owner);
}

// A slice that was just made is nobody else's yet.
char* writable(grpc::Slice& slice) { return reinterpret_cast<char*>(const_cast<std::uint8_t*>(slice.begin())); }

std::uint64_t bytes_on_wire(const Tensor& part) {
  if (!part.defined()) return 0;
  if (part.dtype() != DType::String) return part.bytes();
  const auto* strings = static_cast<const std::string*>(part.raw());
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < part.num_elements(); ++i) bytes += 8 + strings[i].size();
  return bytes;
}

Tensor hosted(const Tensor& part) {
  if (!part.defined()) return part;
  if (part.is_symbolic() || part.dtype() == DType::Resource) {
    throw invalid_argument("Message", "only values travel from task to task", {{"part", part.spec()}});
  }
  return part.to_host();
}

}  // namespace

void MessageWriter::pack(const void* bytes, std::size_t count) {
  if (count == 0) return;
  if (segments_.empty() || segments_.back().memory != nullptr) {
    segments_.push_back({nullptr, packed_.size(), 0, {}});
  }
  packed_.append(static_cast<const char*>(bytes), count);
  segments_.back().bytes += count;
}

void MessageWriter::pad() {
  static constexpr char kZeros[wire::kPartAlignment] = {};
  const std::uint64_t start = wire::aligned(data_);
  pack(kZeros, start - data_);
  data_ = start;
}

void MessageWriter::add_spec(const Tensor& part, std::uint64_t bytes) {
  wire::PartSpec spec;
  spec.bytes = bytes;
  spec.dtype = part.defined() ? static_cast<std::uint8_t>(part.dtype()) : wire::kUndefined;
  spec.rank = part.defined() ? static_cast<std::uint8_t>(part.rank()) : 0;
  pack(&spec, sizeof spec);
  if (part.defined()) pack(part.shape().begin(), sizeof(std::int64_t) * static_cast<std::size_t>(part.rank()));
}

void MessageWriter::add_part(const Tensor& part, std::uint64_t bytes) {
  pad();
  data_ += bytes;
  if (bytes == 0) return;
  if (part.dtype() == DType::String) {
    const auto* strings = static_cast<const std::string*>(part.raw());
    const std::int64_t count = part.num_elements();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t length = strings[i].size();
      pack(&length, sizeof length);
    }
    for (std::int64_t i = 0; i < count; ++i) pack(strings[i].data(), strings[i].size());
  } else if (bytes < wire::kSmallPart) {
    pack(part.raw(), bytes);
  } else {
    segments_.push_back({static_cast<const char*>(part.raw()), 0, bytes, slice_over(part.buffer(), part.raw(), bytes)});
  }
}

void MessageWriter::begin(const Message& message, std::uint32_t status, bool copied) {
  copied_ = copied;
  packed_.clear();
  hosted_.clear();
  part_bytes_.clear();
  segments_.clear();
  wire::Prologue prologue;
  prologue.head = message.head;
  prologue.status = status;
  prologue.parts = static_cast<std::uint32_t>(message.parts.size());
  prologue.meta_bytes = message.meta.size();
  for (const Tensor& part : message.parts) {
    hosted_.push_back(hosted(part));
    part_bytes_.push_back(bytes_on_wire(hosted_.back()));
    prologue.spec_bytes += sizeof(wire::PartSpec) + (part.defined() ? 8 * static_cast<std::uint64_t>(part.rank()) : 0);
    prologue.data_bytes = wire::aligned(prologue.data_bytes) + part_bytes_.back();
  }
  pack(&prologue, sizeof prologue);
  for (std::size_t i = 0; i < hosted_.size(); ++i) add_spec(hosted_[i], part_bytes_[i]);
  pack(message.meta.data(), message.meta.size());
  data_ = 0;
  for (std::size_t i = 0; i < hosted_.size(); ++i) add_part(hosted_[i], part_bytes_[i]);
  // Slices keep what is sent in place; holding the parts any longer would make their owners copy before they write.
  hosted_.clear();

  before_data_ = sizeof prologue + prologue.spec_bytes + prologue.meta_bytes;
  end_ = total_ = before_data_ + prologue.data_bytes;
  sent_ = 0;
  segment_ = within_ = 0;
  number_ = 0;
}

void MessageWriter::advance(std::size_t count) {
  sent_ += count;
  within_ += count;
  if (within_ < segments_[segment_].bytes) return;
  segments_[segment_++].slice = {};
  within_ = 0;
}

template <class Visit>
void MessageWriter::for_each_run(std::size_t count, const Visit& visit) const {
  std::size_t within = within_;
  for (std::size_t i = segment_; count > 0; ++i, within = 0) {
    const std::size_t run = std::min(count, segments_[i].bytes - within);
    if (run > 0 && !visit(begin_of(segments_[i]) + within, run)) return;
    count -= run;
  }
}

std::size_t MessageWriter::begin_chunk(std::size_t bytes, bool sums) {
  header_ = {};
  header_.number = number_++;
  header_.total = total_;
  header_left_ = sizeof header_;
  std::uint64_t payload = end_ - sent_;
  if (payload > bytes + bytes / 4) {
    payload = sent_ < before_data_ ? std::min<std::uint64_t>(bytes, before_data_ - sent_) : bytes;
  }
  if (sums) {
    std::uint32_t crc = crc32c_extend(0, reinterpret_cast<const char*>(&header_) + wire::kUnsummedHeader,
                                      sizeof header_ - wire::kUnsummedHeader);
    for_each_run(payload, [&](const char* run, std::size_t count) {
      crc = crc32c_extend(crc, run, count);
      return true;
    });
    header_.crc = crc;
  }
  return sizeof header_ + payload;
}

void MessageWriter::copy(char* to, std::size_t count) {
  const std::size_t of_header = std::min(count, header_left_);
  std::memcpy(to, reinterpret_cast<const char*>(&header_) + (sizeof header_ - header_left_), of_header);
  header_left_ -= of_header;
  to += of_header;
  count -= of_header;
  while (count > 0) {
    const Segment& segment = segments_[segment_];
    const std::size_t take = std::min(count, segment.bytes - within_);
    std::memcpy(to, begin_of(segment) + within_, take);
    advance(take);
    to += take;
    count -= take;
  }
}

std::size_t MessageWriter::pieces(std::size_t count, std::span<iovec> found) const {
  std::size_t pieces = 0;
  const auto add = [&](const char* bytes, std::size_t size) {
    found[pieces] = {const_cast<char*>(bytes), size};
    return ++pieces < found.size();
  };
  const std::size_t of_header = std::min(count, header_left_);
  const char* const header = reinterpret_cast<const char*>(&header_) + (sizeof header_ - header_left_);
  if (of_header == 0 || add(header, of_header)) for_each_run(count - of_header, add);
  return pieces;
}

// Their owners may write again: nothing refers to their memory any more.
void MessageWriter::take_data_out(char* to) {
  std::uint64_t begin = 0;
  for (Segment& segment : segments_) {
    const std::uint64_t before = std::min<std::uint64_t>(segment.bytes, before_data_ - std::min(before_data_, begin));
    std::memcpy(to, begin_of(segment) + before, segment.bytes - before);
    to += segment.bytes - before;
    begin += segment.bytes;
    segment.slice = {};
  }
  end_ = before_data_;
}

void MessageWriter::skip(std::size_t count) {
  const std::size_t of_header = std::min(count, header_left_);
  header_left_ -= of_header;
  for (count -= of_header; count > 0;) {
    const std::size_t part = std::min(count, segments_[segment_].bytes - within_);
    advance(part);
    count -= part;
  }
}

bool MessageWriter::next(grpc::ByteBuffer& chunk) {
  if (done()) return false;
  wire::ChunkHeader header;
  header.number = number_++;
  header.total = total_;
  std::uint32_t crc = crc32c_extend(0, reinterpret_cast<const char*>(&header) + wire::kUnsummedHeader,
                                    sizeof header - wire::kUnsummedHeader);
  // A rest that is not worth a chunk of its own goes with the last one. What would fill one or two chunks goes in
  // halves: the receiver works on the first while the second is on its way.
  const std::size_t wanted =
      copied_ ? wire::kChunkBytes : std::clamp<std::uint64_t>(total_ / 2, wire::kChunkBytes / 2, wire::kChunkBytes);
  std::size_t room = wanted - sizeof header;
  if (total_ - sent_ <= room + wanted / 4) room = total_ - sent_;
  slices_.clear();
  // The header is at the start of the first slice, which it shares with packed bytes where those come first.
  std::size_t header_room = sizeof header;
  while (room > 0 && segment_ < segments_.size()) {
    Segment& segment = segments_[segment_];
    const std::size_t take = std::min(room, segment.bytes - within_);
    if (segment.memory != nullptr) {
      if (header_room > 0) slices_.emplace_back(header_room);
      if (copied_) {
        const Owned<Buffer> copy = Buffer::allocate(cpu(), take);
        crc = crc32c_copy(crc, copy->data(), segment.memory + within_, take);
        slices_.push_back(slice_over(copy, copy->data(), take));
      } else {
        crc = crc32c_extend(crc, segment.memory + within_, take);
        slices_.push_back(segment.slice.sub(within_, within_ + take));
      }
    } else {
      slices_.emplace_back(header_room + take);
      char* packed = writable(slices_.back()) + header_room;
      std::memcpy(packed, packed_.data() + segment.begin + within_, take);
      crc = crc32c_extend(crc, packed, take);
    }
    header_room = 0;
    room -= take;
    advance(take);
  }
  header.crc = crc;
  std::memcpy(writable(slices_.front()), &header, sizeof header);
  grpc::ByteBuffer made(slices_.data(), slices_.size());
  chunk.Swap(&made);
  slices_.clear();
  return true;
}

}  // namespace cohort::distribute::rpc
