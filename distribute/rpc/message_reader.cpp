#include "cohort/distribute/rpc/message_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "cohort/files/crc32c.h"

namespace cohort::distribute::rpc {
namespace {

// A message that this machine could not hold is refused before anything is allocated for it.
std::uint64_t largest_message() {
  static const std::uint64_t limit =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return limit;
}

// Elements of a shape whose axes come from outside; their product, zeros left out, must fit into 62 bits.
std::uint64_t checked_elements(const Shape& shape) {
  std::uint64_t nonzero = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(nonzero, static_cast<std::uint64_t>(size), &nonzero) || nonzero >> 58 != 0) {
      throw data_loss("the shape of a part fits into memory", {{"shape", shape}});
    }
  }
  return empty ? 0 : nonzero;
}

}  // namespace

Error data_loss(std::string_view expected, std::initializer_list<Received> received) {
  return Error(ErrorCode::DataLoss, "Message", expected, received, "The stream it came on is closed.");
}

void MessageReader::begin_chunk(std::size_t bytes) {
  if (bytes <= sizeof header_) throw data_loss("a chunk holds a header and bytes", {{"chunk.bytes", bytes}});
  chunk_bytes_ = bytes;
  chunk_taken_ = 0;
  unstored_ = 0;
  wants_again_ = false;
}

void MessageReader::take(const char* bytes, std::size_t count) {
  if (chunk_taken_ < sizeof header_) {
    const std::size_t part = std::min(count, sizeof header_ - chunk_taken_);
    std::memcpy(reinterpret_cast<char*>(&header_) + chunk_taken_, bytes, part);
    chunk_taken_ += part;
    bytes += part;
    count -= part;
    if (chunk_taken_ < sizeof header_) return;
    check_header();
  }
  chunk_taken_ += count;
  take_payload(bytes, count);
}

void MessageReader::check_header() {
  if (header_.magic != wire::kMagic) {
    throw data_loss("a chunk starts with the mark of this protocol", {{"magic", std::uint32_t{header_.magic}}});
  }
  if (header_.number != next_number_) {
    throw data_loss("chunks come in order", {{"number", std::uint32_t{header_.number}}, {"expected", next_number_}});
  }
  const std::uint64_t payload = chunk_bytes_ - sizeof header_;
  if (next_number_ == 0) {
    if (header_.total < sizeof prologue_ || header_.total > largest_message()) {
      throw data_loss("a message has a head and fits into this machine's memory",
                      {{"total", std::uint64_t{header_.total}}, {"limit", largest_message()}});
    }
    total_ = header_.total;
    position_ = 0;
    wanted_ = 0;
    admitted_ = laid_out_ = refused_ = false;
    specs_.clear();
    strings_.clear();
    message_.meta.clear();
    message_.parts.clear();
  } else if (header_.total != total_) {
    throw data_loss("all chunks of a message tell the same size",
                    {{"total", std::uint64_t{header_.total}}, {"expected", total_}});
  }
  if (payload > total_ - position_) {
    throw data_loss("chunks hold no more than the message's bytes", {{"bytes", payload}, {"left", total_ - position_}});
  }
  chunk_end_ = position_ + payload;
  ++next_number_;
  crc_ = 0;
  sum(reinterpret_cast<const char*>(&header_) + wire::kUnsummedHeader, sizeof header_ - wire::kUnsummedHeader);
}

void MessageReader::sum(const char* bytes, std::size_t count) {
  if (sums_) crc_ = crc32c_extend(crc_, bytes, count);
}

void MessageReader::take_payload(const char* bytes, std::size_t count) {
  if (refused_) {
    sum(bytes, count);
    position_ += count;
    return;
  }
  while (count > 0) {
    std::size_t part;
    if (position_ < sizeof prologue_) {
      part = std::min<std::uint64_t>(count, sizeof prologue_ - position_);
      std::memcpy(reinterpret_cast<char*>(&prologue_) + position_, bytes, part);
    } else if (position_ < specs_end_) {
      part = std::min<std::uint64_t>(count, specs_end_ - position_);
      specs_.append(bytes, part);
    } else if (position_ < meta_end_) {
      part = std::min<std::uint64_t>(count, meta_end_ - position_);
      message_.meta.append(bytes, part);
    } else if (!laid_out_) {
      part = count;
      unstored_ += part;
    } else {
      char* const to = static_cast<char*>(data_->data()) + (position_ - meta_end_);
      if (sums_) {
        crc_ = crc32c_copy(crc_, to, bytes, count);
      } else {
        std::memcpy(to, bytes, count);
      }
      position_ += count;
      return;
    }
    sum(bytes, part);
    const std::uint64_t before = position_;
    position_ += part;
    bytes += part;
    count -= part;
    if (before < sizeof prologue_ && position_ == sizeof prologue_) check_prologue();
    // What ends with the present chunk takes no more memory than has come.
    const bool specs_are_here = position_ >= sizeof prologue_ && position_ == specs_end_;
    if (specs_are_here && !laid_out_ && chunk_end_ == total_) lay_out_parts();
  }
}

std::span<char> MessageReader::room() const {
  if (chunk_taken_ < sizeof header_ || refused_ || !laid_out_ || position_ < meta_end_) return {};
  return {static_cast<char*>(data_->data()) + (position_ - meta_end_), chunk_end_ - position_};
}

void MessageReader::took(std::size_t count) {
  sum(static_cast<const char*>(data_->data()) + (position_ - meta_end_), count);
  position_ += count;
  chunk_taken_ += count;
}

// The chunk is sound: what it announces gets its memory.
void MessageReader::believe() {
  if (refused_ || position_ < sizeof prologue_) return;
  if (asks_ && !admitted_) {
    wanted_ = total_;
    return;
  }
  if (laid_out_ || position_ < specs_end_) return;
  try {
    lay_out_parts();
  } catch (const std::bad_alloc&) {
    return refuse(std::to_string(total_) + " bytes, which this machine does not have");
  }
  wants_again_ = unstored_ > 0;
  chunk_taken_ = 0;
}

void MessageReader::take_again(const char* bytes, std::size_t count) {
  const std::size_t first = chunk_bytes_ - unstored_;  // before come the header and what is in its place already
  const std::size_t skipped = std::min(count, first - std::min(first, chunk_taken_));
  const std::size_t stored = chunk_taken_ + skipped - first;
  if (skipped < count) std::memcpy(static_cast<char*>(data_->data()) + stored, bytes + skipped, count - skipped);
  chunk_taken_ += count;
  wants_again_ = chunk_taken_ < chunk_bytes_;
}

void MessageReader::admit() {
  admitted_ = true;
  wanted_ = 0;
  believe();
}

void MessageReader::refuse(const std::string& why) {
  refused_ = true;
  wanted_ = 0;
  for (std::string* bytes : {&specs_, &message_.meta}) std::string().swap(*bytes);
  message_.parts.clear();
  strings_.clear();
  data_ = nullptr;
  const Error error(ErrorCode::ResourceExhausted, "Message", "a message must find memory", {{"message", why}},
                    "Send less at once, or raise the limit where the task listens.");
  message_.meta = error.what();
  status_ = 1 + static_cast<std::uint32_t>(error.code());
}

void MessageReader::check_prologue() {
  const std::uint64_t after = total_ - sizeof prologue_;
  const std::uint64_t specs = prologue_.spec_bytes, meta = prologue_.meta_bytes, data = prologue_.data_bytes;
  if (specs > wire::kMaxSpecBytes || meta > wire::kMaxMetaBytes || data > after || specs + meta != after - data) {
    throw data_loss("the sections of a message make up its size",
                    {{"specs", specs}, {"meta", meta}, {"data", data}, {"total", total_}});
  }
  if (std::uint64_t{prologue_.parts} * sizeof(wire::PartSpec) > specs) {
    throw data_loss("every part has its spec", {{"parts", prologue_.parts}, {"spec.bytes", specs}});
  }
  specs_end_ = sizeof prologue_ + specs;
  meta_end_ = specs_end_ + meta;
  message_.head = prologue_.head;
  status_ = prologue_.status;
}

// Everything is checked in a first pass over the specs; memory is taken only then.
void MessageReader::lay_out_parts() {
  const auto walk = [&](const auto& visit) {
    std::size_t at = 0;
    std::uint64_t offset = 0;
    for (std::uint32_t i = 0; i < prologue_.parts; ++i) {
      wire::PartSpec spec;
      if (specs_.size() - at < sizeof spec) throw data_loss("every part has its spec", {{"part", i}});
      std::memcpy(&spec, specs_.data() + at, sizeof spec);
      at += sizeof spec;
      std::int64_t sizes[Shape::kMaxRank];
      const std::size_t axes = spec.rank * sizeof(std::int64_t);
      if (spec.rank > Shape::kMaxRank || specs_.size() - at < axes) {
        throw data_loss("a part has its axes' sizes, at most 8", {{"rank", int{spec.rank}}});
      }
      std::memcpy(sizes, specs_.data() + at, axes);
      at += axes;
      if (std::any_of(sizes, sizes + spec.rank, [](std::int64_t size) { return size < 0; })) {
        throw data_loss("axes have sizes of 0 or more", {{"part", i}});
      }
      offset = wire::aligned(offset);
      if (offset > prologue_.data_bytes || spec.bytes > prologue_.data_bytes - offset) {
        throw data_loss("the parts lie within the message", {{"part", i}, {"bytes", spec.bytes}});
      }
      visit(i, spec, Shape(std::span<const std::int64_t>(sizes, spec.rank)), offset);
      offset += spec.bytes;
    }
    if (at != specs_.size() || offset != prologue_.data_bytes) {
      throw data_loss("the parts fill their section", {{"parts", offset}, {"data", prologue_.data_bytes}});
    }
  };
  walk([&](std::uint32_t i, const wire::PartSpec& spec, const Shape& shape, std::uint64_t) {
    const std::uint64_t elements = checked_elements(shape);
    const auto dtype = static_cast<DType>(spec.dtype);
    bool fits = false;
    if (spec.dtype == wire::kUndefined) {
      fits = spec.rank == 0 && spec.bytes == 0;
    } else if (dtype == DType::String) {
      fits = elements <= spec.bytes / sizeof(std::uint64_t);
    } else if (spec.dtype < kDTypeCount && is_plain(dtype)) {
      fits = spec.bytes == elements * size_of(dtype);
    }
    if (!fits) {
      throw data_loss("a part has a known type and as many bytes as its shape needs",
                      {{"part", i}, {"dtype", int{spec.dtype}}, {"shape", shape}, {"bytes", spec.bytes}});
    }
  });
  if (lent_ && lent_->bytes() != prologue_.data_bytes) {
    throw data_loss("the parts fill the memory that they lie in",
                    {{"parts", prologue_.data_bytes}, {"memory", lent_->bytes()}});
  }
  data_ = lent_ ? lent_ : Buffer::allocate(cpu(), prologue_.data_bytes);
  laid_out_ = true;
  walk([&](std::uint32_t i, const wire::PartSpec& spec, const Shape& shape, std::uint64_t offset) {
    if (spec.dtype == wire::kUndefined) {
      message_.parts.emplace_back();
    } else {
      message_.parts.push_back(Tensor::over(static_cast<DType>(spec.dtype), shape, data_, offset));
      if (static_cast<DType>(spec.dtype) == DType::String) strings_.emplace_back(i, spec.bytes);
    }
  });
}

void MessageReader::lend(Owned<Buffer> data) {
  if (!begins() || lent_) throw data_loss("memory of parts comes before the message, once");
  lent_ = std::move(data);
}

bool MessageReader::ends_with_loan() {
  if (!lent_ || position_ < sizeof prologue_ || position_ != meta_end_ || !(laid_out_ || refused_)) return false;
  position_ = total_;
  finish();
  return true;
}

bool MessageReader::end_chunk() {
  if (chunk_taken_ != chunk_bytes_) throw data_loss("a chunk is as long as announced", {{"bytes", chunk_taken_}});
  if (sums_ && crc_ != header_.crc) {
    throw data_loss(
        "the bytes of a chunk fit their sum",
        {{"sum", crc_}, {"expected", std::uint32_t{header_.crc}}, {"chunk", std::uint32_t{header_.number}}});
  }
  if (lent_ && position_ >= sizeof prologue_ && position_ > meta_end_) {
    throw data_loss("parts that lie in memory come in no chunk", {{"bytes", position_ - meta_end_}});
  }
  if (position_ != total_ || lent_) {
    believe();
    return ends_with_loan();
  }
  finish();
  return true;
}

void MessageReader::finish() {
  for (const auto& [part, bytes] : strings_) {
    const Tensor raw = message_.parts[part];
    const auto* memory = static_cast<const char*>(raw.raw());
    const auto count = static_cast<std::size_t>(raw.num_elements());
    std::uint64_t left = bytes - count * sizeof(std::uint64_t);
    const char* text = memory + count * sizeof(std::uint64_t);
    std::vector<std::string> strings;
    strings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t length;
      std::memcpy(&length, memory + i * sizeof length, sizeof length);
      if (length > left) throw data_loss("strings lie within their part", {{"length", length}});
      strings.emplace_back(text, length);
      text += length;
      left -= length;
    }
    if (left != 0) throw data_loss("strings fill their part", {{"left", left}});
    message_.parts[part] = Tensor::of_strings(std::move(strings), raw.shape());
  }
  data_ = lent_ = nullptr;
  next_number_ = 0;
}

void MessageReader::give(Message& message) {
  std::swap(message_, message);
  // What the caller had in it may be in use elsewhere: nothing is kept but the memory.
  message_.parts.clear();
}

}  // namespace cohort::distribute::rpc
