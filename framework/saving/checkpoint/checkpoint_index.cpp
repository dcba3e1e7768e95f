#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/files/crc32c.h"
#include "cohort/saving/checkpoint/checkpoint_index.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

constexpr std::string_view kCheckpointFormat = "cohort checkpoint";
constexpr int kCheckpointVersion = 1;
constexpr std::string_view kIndexChecksumLine = "\ncrc32c ";
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;

std::string hex_of(std::uint32_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4) text[i] = kDigits[value & 15u];
  return text;
}

struct IndexProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads the fields of an index.
class IndexFields {
 public:
  explicit IndexFields(const Json& object) : object_(object) {
    if (!object.is_object()) throw IndexProblem("an object is missing");
  }
  std::uint64_t number(const char* name) const {
    const Json& value = field(name);
    if (!value.is_number_unsigned()) throw IndexProblem(in_quotes(name) + " is not a count");
    return value.get<std::uint64_t>();
  }
  std::string text(const char* name) const {
    const Json& value = field(name);
    if (!value.is_string()) throw IndexProblem(in_quotes(name) + " is not a text");
    return value.get<std::string>();
  }
  double real(const char* name) const {
    const Json& value = field(name);
    if (!value.is_number()) throw IndexProblem(in_quotes(name) + " is not a number");
    return value.get<double>();
  }
  const Json& list(const char* name) const {
    const Json& value = field(name);
    if (!value.is_array()) throw IndexProblem(in_quotes(name) + " is not a list");
    return value;
  }

 private:
  const Json& field(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw IndexProblem(in_quotes(name) + " is missing");
    return *found;
  }
  const Json& object_;
};

std::uint32_t checksum_from(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 8 || error != std::errc() || end != text.data() + text.size()) {
    throw IndexProblem(in_quotes(text) + " is not a checksum");
  }
  return value;
}

Shape shape_from(const Json& sizes, std::uint64_t& elements) {
  if (sizes.size() > Shape::kMaxRank) throw IndexProblem("a shape has too many axes");
  std::vector<std::int64_t> axes;
  elements = 1;
  for (const Json& size : sizes) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMostElements) {
      throw IndexProblem("a size in a shape is not a count");
    }
    axes.push_back(size.get<std::int64_t>());
    if (__builtin_mul_overflow(elements, size.get<std::uint64_t>(), &elements) || elements > kMostElements) {
      throw IndexProblem("a shape is too large");
    }
  }
  return Shape(axes);
}

// How far the parts read so far fill the files. Each part has bytes of its own, so that an index cannot ask for more
// memory than there is in its files.
struct FilledUpTo {
  std::uint64_t file = 0, offset = 0;
};

CheckpointPart part_from(const Json& json, const CheckpointIndex& index, std::size_t element_bytes,
                         FilledUpTo& filled) {
  const IndexFields fields(json);
  CheckpointPart part{.first = fields.number("first"),
                      .count = fields.number("count"),
                      .file = fields.number("file"),
                      .offset = fields.number("offset"),
                      .bytes = fields.number("bytes"),
                      .checksum = checksum_from(fields.text("crc32c"))};
  if (part.count > kMostElements || part.bytes != part.count * element_bytes) {
    throw IndexProblem("a part has not the bytes of its elements");
  }
  if (part.file >= index.files.size()) throw IndexProblem("a part is in a file that is not listed");
  const std::uint64_t size = index.files[part.file].bytes;
  if (part.offset > size || part.bytes > size - part.offset) throw IndexProblem("a part lies behind its file's end");
  if (part.file < filled.file || (part.file == filled.file && part.offset < filled.offset)) {
    throw IndexProblem("two parts share bytes of a file");
  }
  filled = {part.file, part.offset + part.bytes};
  return part;
}

CheckpointEntry entry_from(const Json& json, const CheckpointIndex& index, FilledUpTo& filled) {
  const IndexFields fields(json);
  CheckpointEntry entry{.name = fields.text("name"), .path = fields.text("path")};
  entry.dtype = dtype_from_string(fields.text("dtype"));
  if (!is_plain(entry.dtype)) throw IndexProblem(in_quotes(entry.name) + " is of a type that has no bytes");
  std::uint64_t elements = 0, next = 0;
  entry.shape = shape_from(fields.list("shape"), elements);
  for (const Json& each : fields.list("parts")) {
    entry.parts.push_back(part_from(each, index, size_of(entry.dtype), filled));
    if (entry.parts.back().first != next)
      throw IndexProblem("the parts of '" + entry.name + "' do not follow each other");
    next += entry.parts.back().count;
  }
  if (next != elements) throw IndexProblem("the parts of '" + entry.name + "' are not all of it");
  return entry;
}

CheckpointIndex index_from(const Json& json) {
  const IndexFields fields(json);
  if (fields.text("format") != kCheckpointFormat) throw IndexProblem("it is something else");
  if (const std::uint64_t version = fields.number("version"); version != kCheckpointVersion) {
    throw IndexProblem("version " + std::to_string(version) + " is not known");
  }
  CheckpointIndex index{.id = fields.text("id"), .time = fields.real("time"), .optimizer = fields.text("optimizer")};
  const std::uint64_t number = fields.number("number");
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw IndexProblem("'number' is too large");
  }
  index.number = static_cast<std::int64_t>(number);
  for (const Json& each : fields.list("files")) {
    const IndexFields file(each);
    index.files.push_back({file.text("name"), file.number("bytes")});
    // Data lies beside its index, wherever somebody may have wanted it.
    const std::string& name = index.files.back().name;
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos || name == "..") {
      throw IndexProblem(in_quotes(name) + " is not the name of a data file");
    }
  }
  std::set<std::string> names;
  FilledUpTo filled;
  for (const Json& each : fields.list("tensors")) {
    index.entries.push_back(entry_from(each, index, filled));
    if (!names.insert(index.entries.back().name).second) {
      throw IndexProblem(in_quotes(index.entries.back().name) + " is there more than once");
    }
  }
  return index;
}

}  // namespace

const CheckpointEntry* CheckpointIndex::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [name](const CheckpointEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Error damaged_checkpoint(const std::string& file, std::string_view problem) {
  return Error(ErrorCode::DataLoss, "Checkpoint", "a whole checkpoint is expected",
               {{"file", file}, {"problem", problem}});
}

std::string format_checkpoint_index(const CheckpointIndex& index) {
  Json json{{"format", kCheckpointFormat},
            {"version", kCheckpointVersion},
            {"id", index.id},
            {"number", index.number},
            {"time", index.time},
            {"optimizer", index.optimizer},
            {"files", Json::array()},
            {"tensors", Json::array()}};
  for (const CheckpointDataFile& file : index.files) {
    json["files"].push_back(Json{{"name", file.name}, {"bytes", file.bytes}});
  }
  for (const CheckpointEntry& entry : index.entries) {
    Json parts = Json::array();
    for (const CheckpointPart& part : entry.parts) {
      parts.push_back(Json{{"first", part.first},
                           {"count", part.count},
                           {"file", part.file},
                           {"offset", part.offset},
                           {"bytes", part.bytes},
                           {"crc32c", hex_of(part.checksum)}});
    }
    json["tensors"].push_back(Json{{"name", entry.name},
                                   {"path", entry.path},
                                   {"dtype", to_string(entry.dtype)},
                                   {"shape", entry.shape.to_vector()},
                                   {"parts", std::move(parts)}});
  }
  std::string text = dump_json(json);
  text += kIndexChecksumLine;
  return text + hex_of(crc32c(text)) + "\n";
}

CheckpointIndex parse_checkpoint_index(std::string_view text, const std::string& file) {
  const std::size_t tail = kIndexChecksumLine.size() + 9;
  try {
    if (text.size() < tail || text.back() != '\n' ||
        text.substr(text.size() - tail, kIndexChecksumLine.size()) != kIndexChecksumLine) {
      throw IndexProblem("it is cut short, or another kind of file");
    }
    if (checksum_from(std::string(text.substr(text.size() - 9, 8))) != crc32c(text.substr(0, text.size() - 9))) {
      throw IndexProblem("its checksum does not fit");
    }
    return index_from(parse_json(text.substr(0, text.size() - tail), "Checkpoint"));
  } catch (const std::exception& problem) {
    throw damaged_checkpoint(file, problem.what());
  }
}

}  // namespace cohort
