#include "cohort/datasets/transforms/example_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::datasets {
namespace {

constexpr std::uint32_t kUnwanted = UINT32_MAX;
constexpr std::size_t kOtherPlaces = 16;  // whose features are remembered though they are not asked for

// The wire format of protocol buffers.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kWithLength = 2, kFixed32 = 5 };
constexpr std::uint32_t tag(std::uint32_t field, WireType type) { return field << 3 | type; }

// The fields of a message, one after the other; false where the bytes are no message.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {}

  bool at_end() const { return next_ == end_; }
  std::string_view rest() const { return {next_, left()}; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  bool varint(std::uint64_t& value) {
    if (next_ == end_) return false;
    const auto first = static_cast<unsigned char>(*next_);
    if (first < 0x80) {
      ++next_;
      value = first;
      return true;
    }
    return long_varint(value);
  }
  bool field(std::uint32_t& value) {
    std::uint64_t wide = 0;
    if (!varint(wide) || wide > UINT32_MAX || wide >> 3 == 0) return false;
    value = static_cast<std::uint32_t>(wide);
    return true;
  }
  bool with_length(std::string_view& bytes) {
    std::uint64_t length = 0;
    if (!varint(length) || length > left()) return false;
    bytes = {next_, static_cast<std::size_t>(length)};
    next_ += length;
    return true;
  }
  bool fixed32(void* target) {
    if (left() < 4) return false;
    std::memcpy(target, next_, 4);
    next_ += 4;
    return true;
  }
  // Goes past a field that is not looked for.
  bool pass(std::uint32_t field) {
    std::uint64_t ignored = 0;
    std::string_view bytes;
    switch (field & 7) {
      case kVarint:
        return varint(ignored);
      case kWithLength:
        return with_length(bytes);
      case kFixed32:
        return hop(4);
      case kFixed64:
        return hop(8);
      default:
        return false;
    }
  }

  bool hop(std::size_t bytes) {
    if (left() < bytes) return false;
    next_ += bytes;
    return true;
  }

 private:
  bool long_varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (next_ == end_) return false;
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  const char* next_;
  const char* end_;
};

// Which field of a Feature holds values of a type, and the type of a field.
std::uint32_t field_of(DType dtype) {
  return tag(dtype == DType::String ? 1 : dtype == DType::Float32 ? 2 : 3, kWithLength);
}
const char* type_name(std::uint32_t field) {
  return field == field_of(DType::String) ? "string" : field == field_of(DType::Float32) ? "float32" : "int64";
}

enum class Outcome { Done, Damaged, TooMany };

Outcome read_floats(std::string_view list, char* target, std::size_t room, std::size_t& count) {
  WireReader reader(list);
  count = 0;
  while (!reader.at_end()) {
    std::uint32_t field = 0;
    std::string_view packed;
    char single[4];
    if (!reader.field(field)) return Outcome::Damaged;
    if (field == tag(1, kWithLength)) {
      if (!reader.with_length(packed) || packed.size() % 4 != 0) return Outcome::Damaged;
    } else if (field == tag(1, kFixed32)) {
      if (!reader.fixed32(single)) return Outcome::Damaged;
      packed = {single, 4};
    } else if (!reader.pass(field)) {
      return Outcome::Damaged;
    }
    const std::size_t more = packed.size() / 4;
    if (target != nullptr && more > 0) {
      if (more > room - count) return Outcome::TooMany;
      std::memcpy(target + count * 4, packed.data(), packed.size());
    }
    count += more;
  }
  return Outcome::Done;
}

Outcome read_integers(std::string_view list, char* target, std::size_t room, std::size_t& count) {
  WireReader reader(list);
  count = 0;
  const auto take = [&](WireReader& from) {
    std::uint64_t value = 0;
    if (!from.varint(value)) return Outcome::Damaged;
    if (target != nullptr) {
      if (count == room) return Outcome::TooMany;
      std::memcpy(target + count * 8, &value, 8);
    }
    ++count;
    return Outcome::Done;
  };
  while (!reader.at_end()) {
    std::uint32_t field = 0;
    if (!reader.field(field)) return Outcome::Damaged;
    Outcome outcome = Outcome::Done;
    if (field == tag(1, kWithLength)) {
      std::string_view packed;
      if (!reader.with_length(packed)) return Outcome::Damaged;
      WireReader values(packed);
      while (outcome == Outcome::Done && !values.at_end()) outcome = take(values);
    } else if (field == tag(1, kVarint)) {
      outcome = take(reader);
    } else if (!reader.pass(field)) {
      outcome = Outcome::Damaged;
    }
    if (outcome != Outcome::Done) return outcome;
  }
  return Outcome::Done;
}

Outcome read_strings(std::string_view list, std::string* target, std::size_t room, std::size_t& count) {
  WireReader reader(list);
  count = 0;
  while (!reader.at_end()) {
    std::uint32_t field = 0;
    std::string_view value;
    if (!reader.field(field)) return Outcome::Damaged;
    if (field != tag(1, kWithLength)) {
      if (!reader.pass(field)) return Outcome::Damaged;
      continue;
    }
    if (!reader.with_length(value)) return Outcome::Damaged;
    if (target != nullptr) {
      if (count == room) return Outcome::TooMany;
      target[count].assign(value);
    }
    ++count;
  }
  return Outcome::Done;
}

// Without a target values are counted only.
Outcome read_list(DType dtype, std::string_view list, char* values, std::string* strings, std::size_t room,
                  std::size_t& count) {
  if (dtype == DType::String) return read_strings(list, strings, room, count);
  if (dtype == DType::Float32) return read_floats(list, values, room, count);
  return read_integers(list, values, room, count);
}

std::string element_name(const ExampleParser::Name& name) {
  return name.element == nullptr ? std::string("?") : std::to_string(name.element->number);
}

[[noreturn]] void no_example(const char* who, const ExampleParser::Name& name, std::string_view feature = {}) {
  throw Error(ErrorCode::DataLoss, who, "a serialised tf.train.Example is expected",
              {{"feature", feature}, {"row", name.row}, {"element", element_name(name)}});
}

}  // namespace

ExampleParser::ExampleParser(const char* who, std::vector<ParsedFeature> features)
    : who_(who), features_(std::move(features)) {
  if (features_.empty()) throw invalid_argument(who, "at least one feature is expected");
  for (const ParsedFeature& feature : features_) {
    if (feature.dtype != DType::Float32 && feature.dtype != DType::Int64 && feature.dtype != DType::String) {
      throw invalid_argument(who, "an Example holds float32, int64 and string",
                             {{"feature", feature.name}, {"dtype", feature.dtype}}, "Cast in a map behind it.");
    }
    const bool impossible = std::any_of(feature.shape.begin(), feature.shape.end(), [](auto n) { return n < 0; }) ||
                            (feature.sequence && feature.shape.num_elements() == 0);
    if (impossible) {
      throw invalid_argument(who, "a known shape is expected", {{"feature", feature.name}, {"shape", feature.shape}},
                             "Use FixedLenSequenceFeature for values of any number.");
    }
    const Tensor& fallback = feature.default_value;
    if (fallback.defined() && (fallback.is_symbolic() || fallback.dtype() != feature.dtype ||
                               (fallback.rank() != 0 && (feature.sequence || fallback.shape() != feature.shape)))) {
      throw invalid_argument(who,
                             "a default of the feature's type, for its shape or for each of its "
                             "values, is expected",
                             {{"feature", feature.name}, {"default_value", fallback.spec()}});
    }
    if (!by_name_.emplace(feature.name, static_cast<std::uint32_t>(widths_.size())).second) {
      throw invalid_argument(who, "each name is expected once", {{"feature", feature.name}});
    }
    widths_.push_back(static_cast<std::size_t>(feature.shape.num_elements()));
  }
}

std::uint32_t ExampleParser::find(std::string_view key, std::size_t place, Memory& memory) const {
  if (place < memory.places_.size()) {
    const std::uint32_t guess = memory.places_[place].feature;
    if (guess != kUnwanted && features_[guess].name == key) return guess;
  } else if (place < 2 * features_.size() + kOtherPlaces) {
    memory.places_.resize(place + 1);
  }
  const auto found = by_name_.find(key);
  const std::uint32_t feature = found == by_name_.end() ? kUnwanted : found->second;
  if (place < memory.places_.size()) {
    memory.places_[place].feature = feature;
    memory.places_[place].before.clear();
  }
  return feature;
}

// The bytes before the values hold every length of the entry: where they are the same, so is all the rest.
std::size_t ExampleParser::read_as_before(std::string_view entries, std::size_t place,
                                          std::span<const FeatureRows> rows, std::size_t row, Memory& memory) const {
  if (place >= memory.places_.size()) return 0;
  const Memory::Place& known = memory.places_[place];
  if (known.before.empty() || entries.size() < known.before.size() + known.values ||
      !entries.starts_with(known.before)) {
    return 0;
  }
  const std::string_view values = entries.substr(known.before.size(), known.values);
  char* target = rows[known.feature].values + row * rows[known.feature].row_bytes;
  if (features_[known.feature].dtype == DType::Float32) {
    std::memcpy(target, values.data(), values.size());
  } else {
    WireReader reader(values);
    for (std::size_t i = 0; i < widths_[known.feature]; ++i) {
      std::uint64_t value = 0;
      if (!reader.varint(value)) return 0;
      std::memcpy(target + i * sizeof value, &value, sizeof value);
    }
    if (!reader.at_end()) return 0;
  }
  memory.seen_[known.feature] = 1;
  return known.before.size() + known.values;
}

void ExampleParser::remember(std::string_view entry, std::string_view list, std::size_t place, Memory& memory) const {
  if (place >= memory.places_.size()) return;
  Memory::Place& known = memory.places_[place];
  known.before.clear();
  if (features_[known.feature].sequence || features_[known.feature].dtype == DType::String) return;
  WireReader reader(list);
  std::uint32_t field = 0;
  std::string_view packed;
  const bool only_packed = reader.field(field) && field == tag(1, kWithLength) && reader.with_length(packed) &&
                           reader.at_end() && !packed.empty();
  const char* end = entry.data() + entry.size();
  if (!only_packed || packed.data() + packed.size() != end) return;
  known.before.assign(entry.data(), packed.data());
  known.values = packed.size();
}

void ExampleParser::parse(std::string_view example, std::span<const FeatureRows> rows, std::size_t row,
                          const Name& name, Memory& memory) const {
  memory.seen_.assign(features_.size(), 0);
  WireReader message(example);
  std::size_t place = 0;
  while (!message.at_end()) {
    std::uint32_t field = 0;
    std::string_view bytes;
    if (!message.field(field)) no_example(who_, name);
    if (field != tag(1, kWithLength)) {
      if (!message.pass(field)) no_example(who_, name);
      continue;
    }
    if (!message.with_length(bytes)) no_example(who_, name);
    for (WireReader features(bytes); !features.at_end();) {
      const std::string_view entries = features.rest();
      if (const std::size_t bytes_read = read_as_before(entries, place, rows, row, memory)) {
        features.hop(bytes_read);
        ++place;
        continue;
      }
      std::string_view entry;
      if (!features.field(field)) no_example(who_, name);
      if (field != tag(1, kWithLength)) {
        if (!features.pass(field)) no_example(who_, name);
        continue;
      }
      if (!features.with_length(entry)) no_example(who_, name);
      std::string_view key, value;
      for (WireReader pair(entry); !pair.at_end();) {
        if (!pair.field(field)) no_example(who_, name);
        const bool wanted = field == tag(1, kWithLength) || field == tag(2, kWithLength);
        if (wanted ? !pair.with_length(field == tag(1, kWithLength) ? key : value) : !pair.pass(field)) {
          no_example(who_, name);
        }
      }
      const std::uint32_t feature = find(key, place, memory);
      if (feature != kUnwanted) {
        const std::string_view list = read_feature(feature, value, rows[feature], row, name, memory);
        remember(entries.substr(0, entries.size() - features.left()), list, place, memory);
      }
      ++place;
    }
  }
  for (std::size_t feature = 0; feature < features_.size(); ++feature) {
    if (memory.seen_[feature] == 0) write_default(feature, rows[feature], row, name);
  }
}

std::string_view ExampleParser::read_feature(std::size_t number, std::string_view bytes, const FeatureRows& rows,
                                             std::size_t row, const Name& name, Memory& memory) const {
  const ParsedFeature& feature = features_[number];
  std::string_view list;
  std::uint32_t kind = 0;
  for (WireReader reader(bytes); !reader.at_end();) {
    std::uint32_t field = 0;
    if (!reader.field(field)) no_example(who_, name, feature.name);
    const bool is_list = field == tag(1, kWithLength) || field == tag(2, kWithLength) || field == tag(3, kWithLength);
    if (is_list ? !reader.with_length(list) : !reader.pass(field)) no_example(who_, name, feature.name);
    if (is_list) kind = field;
  }
  if (kind == 0) return {};  // without values, as if it were not there
  if (kind != field_of(feature.dtype)) {
    throw invalid_argument(who_, "values of another type are expected",
                           {{"feature", feature.name},
                            {"dtype", feature.dtype},
                            {"received", type_name(kind)},
                            {"row", name.row},
                            {"element", element_name(name)}});
  }
  memory.seen_[number] = 1;
  const std::size_t width = widths_[number];
  std::size_t count = 0;
  Outcome outcome;
  if (feature.sequence) {
    outcome = read_list(feature.dtype, list, nullptr, nullptr, 0, count);
    rows.sequences[row] = {list, static_cast<std::int64_t>(count)};
  } else {
    outcome = read_list(feature.dtype, list, rows.values == nullptr ? nullptr : rows.values + row * rows.row_bytes,
                        rows.strings == nullptr ? nullptr : rows.strings + row * width, width, count);
  }
  if (outcome == Outcome::Damaged) no_example(who_, name, feature.name);
  if (outcome == Outcome::TooMany || (feature.sequence ? count % width != 0 : count != width)) {
    throw invalid_argument(
        who_,
        feature.sequence ? "a multiple of its shape's values is expected" : "as many values as its shape are expected",
        {{"feature", feature.name},
         {"shape", feature.shape},
         {"values", outcome == Outcome::TooMany ? "more" : std::to_string(count)},
         {"row", name.row},
         {"element", element_name(name)}},
        "Use FixedLenSequenceFeature for values of any number.");
  }
  return list;
}

void ExampleParser::write_default(std::size_t number, const FeatureRows& rows, std::size_t row,
                                  const Name& name) const {
  const ParsedFeature& feature = features_[number];
  if (feature.sequence) {
    rows.sequences[row] = {};
    return;
  }
  const Tensor& fallback = feature.default_value;
  if (!fallback.defined()) {
    throw invalid_argument(who_, "a feature without a default must be in every Example",
                           {{"feature", feature.name}, {"row", name.row}, {"element", element_name(name)}},
                           "Give it a default_value.");
  }
  const std::size_t width = widths_[number], step = fallback.rank() == 0 ? 0 : 1;
  if (feature.dtype == DType::String) {
    const auto* values = static_cast<const std::string*>(fallback.raw());
    for (std::size_t i = 0; i < width; ++i) rows.strings[row * width + i] = values[i * step];
    return;
  }
  const std::size_t bytes = size_of(feature.dtype);
  for (std::size_t i = 0; i < width; ++i) {
    std::memcpy(rows.values + row * rows.row_bytes + i * bytes,
                static_cast<const char*>(fallback.raw()) + i * step * bytes, bytes);
  }
}

void ExampleParser::read_sequence(std::size_t feature, const SequenceInExample& sequence, char* values,
                                  std::string* strings) const {
  std::size_t count = 0;
  // It has been counted, so nothing is wrong with it.
  read_list(features_[feature].dtype, sequence.list, values, strings, static_cast<std::size_t>(sequence.values), count);
}

}  // namespace cohort::datasets
