#include "cohort/datasets/sources/json_lines.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kJsonLines = "datasets.json_lines";
// What a line becomes in memory is many times its size.
constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20;

using Json = nlohmann::json;

// Writes a number where it fits the type.
template <class T>
bool write_json_number(const Json& value, char* memory) {
  T number{};
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) return false;
    number = value.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return false;
    number = static_cast<T>(value.get<double>());
    if (!std::isfinite(number)) return false;
  } else {
    if (value.is_number_unsigned()) {
      if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
    } else if (!value.is_number_integer() || value.get<std::int64_t>() < std::numeric_limits<T>::min()) {
      return false;
    }
    number = static_cast<T>(value.get<std::int64_t>());
  }
  std::memcpy(memory, &number, sizeof number);
  return true;
}

bool write_scalar(const Json& value, DType dtype, char* memory) {
  switch (dtype) {
    case DType::Int32:
      return write_json_number<std::int32_t>(value, memory);
    case DType::Int64:
      return write_json_number<std::int64_t>(value, memory);
    case DType::Float32:
      return write_json_number<float>(value, memory);
    case DType::Float64:
      return write_json_number<double>(value, memory);
    case DType::Bool:
      return write_json_number<bool>(value, memory);
    default:
      if (!value.is_string()) return false;
      *reinterpret_cast<std::string*>(memory) = value.get_ref<const std::string&>();
      return true;
  }
}

// Writes arrays of `spec`'s shape, from `axis` on; false when they are something else.
bool write_json(const Json& value, const TensorSpec& spec, int axis, char*& memory) {
  if (axis == spec.shape.rank()) {
    if (!write_scalar(value, spec.dtype, memory)) return false;
    memory += spec.dtype == DType::String ? sizeof(std::string) : size_of(spec.dtype);
    return true;
  }
  if (!value.is_array() || value.size() != static_cast<std::size_t>(spec.shape[axis])) return false;
  return std::all_of(value.begin(), value.end(),
                     [&](const Json& part) { return write_json(part, spec, axis + 1, memory); });
}

// A field as a stage uses it.
struct JsonTarget {
  std::string name;
  TensorSpec spec;
  std::optional<Json> default_value;
};

class JsonLinesIterator : public FileRecords {
 public:
  JsonLinesIterator(std::shared_ptr<const FilesOfRecords> files, std::shared_ptr<const std::vector<JsonTarget>> targets)
      : FileRecords(kJsonLines, std::move(files)), targets_(std::move(targets)) {}

 protected:
  bool measure(std::string_view bytes, bool at_end, RecordExtent& extent) const override {
    if (!measure_line(bytes, at_end, extent)) return false;
    extent.is_element = bytes.substr(0, extent.content).find_first_not_of(" \t\r") != bytes.npos;
    return true;
  }
  void parse(const RecordText& record, std::span<const RowMemory> leaves, std::size_t row) const override {
    if (record.text.size() > kMostJsonBytes) {
      wrong(record, "a line of at most 64 MiB is expected", {}, std::to_string(record.text.size()) + " bytes");
    }
    const Json line = Json::parse(record.text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) wrong(record, "a JSON object is expected", {}, shown(record.text));
    for (std::size_t i = 0; i < targets_->size(); ++i) {
      const JsonTarget& target = (*targets_)[i];
      const auto member = line.find(target.name);
      const bool missing = member == line.end() || member->is_null();
      if (missing && !target.default_value) {
        wrong(record, "a member is expected: the field has no default", target.name, shown(record.text));
      }
      char* memory = leaves[i].first + row * leaves[i].row_bytes;
      if (!write_json(missing ? *target.default_value : *member, target.spec, 0, memory)) {
        wrong(record, "a member of " + target.spec.to_string() + " is expected", target.name,
              // Not what is nested in it: writing that down takes a stack as deep.
              member->is_structured() ? member->type_name()
                                      : shown(member->dump(-1, ' ', false, Json::error_handler_t::replace)));
      }
    }
  }

 private:
  [[noreturn]] static void wrong(const RecordText& record, std::string_view expected, std::string_view field,
                                 std::string_view value) {
    throw invalid_argument(kJsonLines, expected,
                           {{"file", *record.file},
                            {"line", record.line},
                            {"offset", record.offset},
                            {"field", shown(field)},
                            {"value", value}});
  }

  std::shared_ptr<const std::vector<JsonTarget>> targets_;
};

class JsonLinesStage : public DatasetStage {
 public:
  JsonLinesStage(FilesOfRecords files, std::vector<JsonTarget> targets)
      : files_(std::make_shared<const FilesOfRecords>(std::move(files))),
        targets_(std::make_shared<const std::vector<JsonTarget>>(std::move(targets))) {
    std::vector<ElementSpec::Named> members;
    for (const JsonTarget& target : *targets_) members.emplace_back(target.name, target.spec);
    spec_ = ElementSpec::dict(std::move(members));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<JsonLinesIterator>(files_, targets_);
  }

 private:
  std::shared_ptr<const FilesOfRecords> files_;
  std::shared_ptr<const std::vector<JsonTarget>> targets_;
  ElementSpec spec_;
};

void check_target(const JsonTarget& target, const std::vector<JsonTarget>& others) {
  constexpr DType kTypes[] = {DType::Int32, DType::Int64, DType::Float32, DType::Float64, DType::String, DType::Bool};
  if (std::find(std::begin(kTypes), std::end(kTypes), target.spec.dtype) == std::end(kTypes) ||
      !target.spec.shape.fully_known()) {
    throw invalid_argument(kJsonLines,
                           "a type of int32, int64, float32, float64, string and bool and a known shape are expected",
                           {{"field", target.name}, {"spec", target.spec.to_string()}});
  }
  for (const JsonTarget& other : others) {
    if (other.name == target.name)
      throw invalid_argument(kJsonLines, "different names are expected", {{"name", target.name}});
  }
  if (!target.default_value) return;
  Tensor memory;
  renew_leaf(target.spec, memory);
  char* at = static_cast<char*>(memory.raw());
  if (!write_json(*target.default_value, target.spec, 0, at)) {
    throw invalid_argument(kJsonLines, "a default of the field's type and shape is expected",
                           {{"field", target.name}, {"spec", target.spec.to_string()}});
  }
}

std::vector<JsonTarget> targets_of(const Attributes& attributes) {
  const auto names = attributes.get<std::vector<std::string>>("names");
  const auto dtypes = attributes.get<std::vector<std::string>>("dtypes");
  const auto shapes = attributes.get<std::vector<std::int64_t>>("shapes");  // rank and sizes of each
  const auto defaults = attributes.get<std::vector<std::string>>("defaults");
  if (names.empty() || dtypes.size() != names.size() || defaults.size() != names.size()) {
    throw invalid_argument(kJsonLines, "at least one field is expected, and its type and default",
                           {{"fields", names.size()}});
  }
  std::vector<JsonTarget> targets;
  std::size_t at = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Shape shape;
    const std::int64_t rank = at < shapes.size() ? shapes[at++] : -1;
    if (rank < 0 || rank > Shape::kMaxRank || shapes.size() - at < static_cast<std::size_t>(rank)) {
      throw invalid_argument(kJsonLines, "the shape of each field is expected", {{"field", names[i]}, {"rank", rank}});
    }
    for (std::int64_t axis = 0; axis < rank; ++axis) shape.push_back(shapes[at++]);
    JsonTarget target{names[i], {dtype_from_string(dtypes[i]), shape}, std::nullopt};
    if (!defaults[i].empty()) target.default_value = Json::parse(defaults[i], nullptr, /*allow_exceptions=*/false);
    check_target(target, targets);
    targets.push_back(std::move(target));
  }
  return targets;
}

std::shared_ptr<const DatasetStage> make_json_lines(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kJsonLines, inputs);
  std::vector<JsonTarget> targets = targets_of(attributes);
  Specs specs;
  for (const JsonTarget& target : targets) specs.push_back(target.spec);
  return std::make_shared<JsonLinesStage>(
      FilesOfRecords{input_files_of(kJsonLines, attributes),
                     packing_of(kJsonLines, attributes.get<std::string>("compression")), std::move(specs)},
      std::move(targets));
}

COHORT_DATASET("json_lines", make_json_lines);

}  // namespace

Dataset json_lines(const std::vector<std::string>& files, const std::vector<JsonField>& fields,
                   const JsonLinesOptions& options) {
  std::vector<std::string> names, dtypes, defaults;
  std::vector<std::int64_t> shapes;
  for (const JsonField& field : fields) {
    names.push_back(field.name);
    dtypes.emplace_back(to_string(field.dtype));
    shapes.push_back(field.shape.rank());
    shapes.insert(shapes.end(), field.shape.begin(), field.shape.end());
    if (field.default_value && field.default_value->empty()) {
      throw invalid_argument(kJsonLines, "a default is JSON, which is never empty", {{"field", field.name}},
                             "Write \"\\\"\\\"\" for an empty string.");
    }
    defaults.push_back(field.default_value.value_or(""));
  }
  Attributes attributes{{"names", names},
                        {"dtypes", dtypes},
                        {"shapes", shapes},
                        {"defaults", defaults},
                        {"compression", options.compression}};
  add_input_files(find_input_files(kJsonLines, files), attributes);
  return Dataset::make("json_lines", {}, std::move(attributes));
}

Dataset json_lines(const std::string& file, const std::vector<JsonField>& fields, const JsonLinesOptions& options) {
  return json_lines(std::vector<std::string>{file}, fields, options);
}

}  // namespace cohort::datasets
