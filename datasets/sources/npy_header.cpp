#include "cohort/datasets/sources/npy_header.h"

#include <charconv>

#include "cohort/core/error.h"

namespace cohort::datasets {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kMostOfHeader = std::size_t{1} << 20;

[[noreturn]] void damaged_npy(const std::string& name, std::string_view problem) {
  throw Error(ErrorCode::DataLoss, "datasets.npy", "a whole .npy file is expected",
              {{"file", name}, {"problem", problem}}, "Write it again with numpy.save.");
}

// Walks the literal of a Python dict.
class NpyLiteral {
 public:
  NpyLiteral(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool take(char c) {
    pass_blanks();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) damaged_npy(name_, "its header cannot be read");
  }
  std::string_view string() {
    pass_blanks();
    const char quote = text_.empty() ? '\0' : text_[0];
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) damaged_npy(name_, "its header cannot be read");
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    pass_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    damaged_npy(name_, "its header cannot be read");
  }
  std::int64_t number() {
    pass_blanks();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) damaged_npy(name_, "its shape is wrong");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    take('L');  // as Python 2 wrote it
    return value;
  }
  bool next_is(char c) {
    pass_blanks();
    return !text_.empty() && text_[0] == c;
  }
  bool only_blanks() {
    pass_blanks();
    return text_.empty();
  }

 private:
  void pass_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) text_.remove_prefix(1);
  }

  std::string_view text_;
  const std::string& name_;
};

DType tensor_type(char kind, std::size_t width) {
  if (kind == 'b' && width == 1) return DType::Bool;
  if (kind == 'f' && width == 2) return DType::Float16;
  if (kind == 'f' && width == 4) return DType::Float32;
  if (kind == 'f' && width == 8) return DType::Float64;
  if (kind == 'i' && width == 1) return DType::Int8;
  if (kind == 'u' && width == 1) return DType::UInt8;
  if ((kind == 'i' && width <= 4) || (kind == 'u' && width == 2)) return DType::Int32;
  if ((kind == 'i' && width == 8) || (kind == 'u' && width == 4)) return DType::Int64;
  return DType::Resource;
}

void set_type(std::string_view descr, NpyHeader& header, const std::string& name) {
  if (descr.find('O') != std::string_view::npos) {
    throw unimplemented("datasets.npy", "an array without Python objects is expected",
                        {{"file", name}, {"descr", descr}}, "Pickles are not read: they can run any code.");
  }
  const char order = descr.empty() ? '\0' : descr[0];
  int width = 0;
  const bool typed = descr.size() >= 3 && std::string_view("<>|=").find(order) != std::string_view::npos;
  if (typed) std::from_chars(descr.data() + 2, descr.data() + descr.size(), width);
  constexpr std::string_view kWidths = "1248";
  const bool known = typed && descr.size() == 3 && kWidths.find(descr[2]) != std::string_view::npos;
  header.kind = typed ? descr[1] : '\0';
  header.width = static_cast<std::size_t>(width);
  header.swapped = order == '>' && width > 1;
  header.spec.dtype = known ? tensor_type(header.kind, header.width) : DType::Resource;
  if (header.spec.dtype == DType::Resource) {
    throw unimplemented("datasets.npy", "an array of numbers or truth values of up to 8 bytes is expected",
                        {{"file", name}, {"descr", descr}}, "Convert it with astype before saving.");
  }
}

void set_shape(NpyLiteral& literal, NpyHeader& header, const std::string& name) {
  literal.expect('(');
  while (!literal.take(')')) {
    if (header.spec.shape.rank() == Shape::kMaxRank) {
      throw unimplemented("datasets.npy", "an array of at most 8 axes is expected", {{"file", name}});
    }
    header.spec.shape.push_back(literal.number());
    if (!literal.next_is(')')) literal.expect(',');
  }
}

// The largest array that is believed in; shapes beyond it cannot be counted either.
std::uint64_t checked_bytes_of(const Shape& shape, std::size_t width, const std::string& name) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  std::uint64_t bytes = width;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (static_cast<std::uint64_t>(size) > kMost / bytes) {
      damaged_npy(name, "its shape is too large");
    } else {
      bytes *= static_cast<std::uint64_t>(size);
    }
  }
  return empty ? 0 : bytes;
}

}  // namespace

std::size_t npy_header_bytes(std::string_view preamble, const std::string& name) {
  if (preamble.size() < kNpyPreamble || !preamble.starts_with(kNpyMagic)) {
    damaged_npy(name, "it does not begin as one");
  }
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(preamble[i])}; };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    throw unimplemented("datasets.npy", "a .npy file of version 1, 2 or 3 is expected",
                        {{"file", name}, {"version", version}});
  }
  const std::size_t before = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMostOfHeader) damaged_npy(name, "its header is too long");
  return before + length;
}

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kNpyPreamble || bytes.size() < npy_header_bytes(bytes, name)) {
    damaged_npy(name, "it ends inside its header");
  }
  NpyHeader header;
  NpyLiteral literal(bytes.substr(bytes[6] == 1 ? 10 : 12), name);
  bool has_type = false, has_order = false, has_shape = false;
  literal.expect('{');
  while (!literal.take('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr" && !has_type) {
      if (literal.next_is('[')) {
        throw unimplemented("datasets.npy", "an array of one type is expected", {{"file", name}},
                            "Save the fields as arrays of their own.");
      }
      set_type(literal.string(), header, name);
      has_type = true;
    } else if (key == "fortran_order" && !has_order) {
      header.column_major = literal.boolean();
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      set_shape(literal, header, name);
      has_shape = true;
    } else {
      damaged_npy(name, "its header cannot be read");
    }
    if (!literal.next_is('}')) literal.expect(',');
  }
  if (!has_type || !has_order || !has_shape || !literal.only_blanks()) damaged_npy(name, "its header cannot be read");
  if (header.spec.shape.rank() == 0) {
    throw invalid_argument("datasets.npy", "an array of at least one axis is expected", {{"file", name}});
  }
  if (header.spec.shape.rank() == 1) header.column_major = false;  // the same
  header.data_bytes = checked_bytes_of(header.spec.shape, header.width, name);
  return header;
}

}  // namespace cohort::datasets
