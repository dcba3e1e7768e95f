#include "cohort/datasets/sources/csv.h"

#include <algorithm>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/sources/csv_rows.h"
#include "cohort/datasets/sources/parse_number.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kCsv = "datasets.csv";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class CsvIterator : public FileRecords {
 public:
  CsvIterator(std::shared_ptr<const FilesOfRecords> files, std::shared_ptr<const CsvRows> rows,
              std::optional<std::string> header)
      : FileRecords(kCsv, std::move(files)), rows_(std::move(rows)), header_(std::move(header)) {}

 protected:
  bool measure(std::string_view bytes, bool at_end, RecordExtent& extent) const override {
    return measure_csv_row(rows_->dialect(), bytes, at_end, extent);
  }
  void begin_file() override {
    if (peek(kByteOrderMark.size()).starts_with(kByteOrderMark)) {
      pass({kByteOrderMark.size(), kByteOrderMark.size(), 0});
    }
    RecordExtent extent;
    if (!header_ || !locate(0, extent)) return;
    const RecordText line = text_at(0, extent.content, 0);
    if (line.text != *header_) {
      throw BrokenSource(ErrorCode::FailedPrecondition, kCsv, "files with the same header are expected",
                         {{"file", *line.file}, {"header", shown(line.text)}, {"first", shown(*header_)}});
    }
    pass(extent);
  }
  void parse(const RecordText& record, std::span<const RowMemory> leaves, std::size_t row) const override {
    rows_->parse(record, leaves, row);
  }

 private:
  std::shared_ptr<const CsvRows> rows_;
  std::optional<std::string> header_;
};

class CsvStage : public DatasetStage {
 public:
  CsvStage(FilesOfRecords files, CsvRows rows, std::optional<std::string> header, ElementSpec spec)
      : files_(std::make_shared<const FilesOfRecords>(std::move(files))),
        rows_(std::make_shared<const CsvRows>(std::move(rows))),
        header_(std::move(header)),
        spec_(std::move(spec)) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<CsvIterator>(files_, rows_, header_);
  }

 private:
  std::shared_ptr<const FilesOfRecords> files_;
  std::shared_ptr<const CsvRows> rows_;
  std::optional<std::string> header_;  // what each file begins with
  ElementSpec spec_;
};

CsvDialect dialect_of(const Attributes& attributes) {
  const auto delimiter = attributes.get<std::string>("delimiter");
  if (delimiter.size() != 1 || delimiter.find_first_of("\"\r\n") != delimiter.npos) {
    throw invalid_argument(kCsv, "the delimiter must be a byte other than a quote or the end of a line",
                           {{"delimiter", shown(delimiter)}});
  }
  return {delimiter[0], attributes.get<bool>("use_quotes"), attributes.get<std::string>("na_value")};
}

void set_default(const std::string& name, const std::string& text, CsvTarget& target) {
  target.has_default = true;
  target.text = text;
  if (target.dtype != DType::String && !parse_value(text, target.dtype, target.number.data())) {
    throw invalid_argument(kCsv, std::string("a default of type ") + to_string(target.dtype) + " is expected",
                           {{"tensor", name}, {"default_value", shown(text)}});
  }
}

// The tensors asked for, as attributes describe them.
class CsvPlan {
 public:
  explicit CsvPlan(const Attributes& attributes)
      : columns_(attributes.get<std::vector<std::int64_t>>("columns")),
        targets_(static_cast<std::size_t>(
            std::clamp<std::int64_t>(attributes.get<std::int64_t>("file_columns"), 0, kMostColumns))) {
    const auto names = attributes.get<std::vector<std::string>>("names");
    const auto dtypes = attributes.get<std::vector<std::string>>("dtypes");
    const auto widths = attributes.get<std::vector<std::int64_t>>("widths");
    const auto defaults = attributes.get<std::vector<std::string>>("defaults");
    const auto has_default = attributes.get<std::vector<std::int64_t>>("has_default");
    if (names.empty() || dtypes.size() != names.size() || widths.size() != names.size() ||
        defaults.size() != names.size() || has_default.size() != names.size()) {
      throw invalid_argument(kCsv, "at least one tensor is expected, and its type, width and default",
                             {{"tensors", names.size()}});
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      add(names[i], dtype_from_string(dtypes[i]), widths[i], has_default[i] != 0 ? &defaults[i] : nullptr);
    }
    make_spec(names, attributes.get<bool>("dict"));
  }

  const std::vector<CsvTarget>& targets() const { return targets_; }
  const Specs& specs() const { return specs_; }
  const ElementSpec& spec() const { return spec_; }

 private:
  static constexpr std::int64_t kMostColumns = 1 << 20;

  void add(const std::string& name, DType dtype, std::int64_t width, const std::string* default_value) {
    constexpr DType kTypes[] = {DType::Int32, DType::Int64, DType::Float32, DType::Float64, DType::String, DType::Bool};
    if (std::find(std::begin(kTypes), std::end(kTypes), dtype) == std::end(kTypes)) {
      throw invalid_argument(kCsv, "a type of int32, int64, float32, float64, string and bool is expected",
                             {{"tensor", name}, {"dtype", to_string(dtype)}});
    }
    if (width < 1 || static_cast<std::uint64_t>(width) > columns_.size() - used_) {
      throw invalid_argument(kCsv, "a tensor of at least one column is expected", {{"tensor", name}});
    }
    const std::size_t bytes = dtype == DType::String ? sizeof(std::string) : size_of(dtype);
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
      const std::int64_t column = columns_[used_++];
      if (column < 0 || static_cast<std::size_t>(column) >= targets_.size()) {
        throw invalid_argument(kCsv, "a column of the file is expected",
                               {{"tensor", name}, {"column", column}, {"columns", targets_.size()}});
      }
      CsvTarget& target = targets_[static_cast<std::size_t>(column)];
      if (target.leaf >= 0) {
        throw invalid_argument(kCsv, "each column may be asked for once", {{"tensor", name}, {"column", column}});
      }
      target.leaf = static_cast<int>(specs_.size());
      target.offset = i * bytes;
      target.dtype = dtype;
      if (default_value) set_default(name, *default_value, target);
    }
    specs_.push_back({dtype, width == 1 ? Shape{} : Shape{width}});
  }
  void make_spec(const std::vector<std::string>& names, bool dict) {
    std::vector<ElementSpec> members(specs_.begin(), specs_.end());
    std::vector<ElementSpec::Named> named;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (dict && std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
                      names.begin() + static_cast<std::ptrdiff_t>(i)) {
        throw invalid_argument(kCsv, "different names are expected in a dict", {{"name", names[i]}});
      }
      named.emplace_back(names[i], members[i]);
    }
    spec_ = dict                  ? ElementSpec::dict(std::move(named))
            : members.size() == 1 ? members[0]
                                  : ElementSpec::tuple(std::move(members));
  }

  std::vector<std::int64_t> columns_;
  std::size_t used_ = 0;
  std::vector<CsvTarget> targets_;
  Specs specs_;
  ElementSpec spec_;
};

std::shared_ptr<const DatasetStage> make_csv(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kCsv, inputs);
  const CsvPlan plan(attributes);
  std::optional<std::string> header;
  if (attributes.get<bool>("header")) header = attributes.get<std::string>("header_line");
  return std::make_shared<CsvStage>(
      FilesOfRecords{input_files_of(kCsv, attributes), packing_of(kCsv, attributes.get<std::string>("compression")),
                     plan.specs()},
      CsvRows(kCsv, dialect_of(attributes), plan.targets(), attributes.get<std::vector<std::string>>("column_names")),
      header, plan.spec());
}

COHORT_DATASET("csv", make_csv);

// The first line of the first file: the header, or a row.
std::string first_row_of(const InputFile& file, Packing packing, const CsvDialect& dialect) {
  FileWindow window(kCsv, packing);
  window.open(file, 0);
  RecordExtent extent;
  constexpr std::size_t kMostHeader = std::size_t{16} << 20;
  for (std::size_t look = std::size_t{64} << 10; look <= kMostHeader; look *= 2) {
    window.read_until(look);
    const bool at_end = window.unread().size() < look;
    if (window.unread().starts_with(kByteOrderMark)) window.pass(kByteOrderMark.size());
    if (window.unread().empty()) break;
    if (measure_csv_row(dialect, window.unread(), at_end, extent)) {
      return std::string(window.unread().substr(0, extent.content));
    }
  }
  throw invalid_argument(kCsv, "a file that begins with a row is expected", {{"file", file.path}});
}

std::int64_t number_of(const CsvColumn& column, const std::vector<std::string>& names, const std::string& file) {
  if (column.number >= 0) return column.number;
  const auto found = std::find(names.begin(), names.end(), column.name);
  if (found == names.end()) {
    throw invalid_argument(kCsv, "a column that the header names is expected",
                           {{"column", shown(column.name)}, {"file", file}}, "Give a name of the header, or a number.");
  }
  return found - names.begin();
}

}  // namespace

Dataset csv(const std::vector<std::string>& files, const CsvOptions& options) {
  const std::vector<InputFile> found = find_input_files(kCsv, files);
  Attributes attributes{{"header", options.header},
                        {"delimiter", std::string(1, options.delimiter)},
                        {"use_quotes", options.use_quotes},
                        {"na_value", options.na_value},
                        {"dict", options.dict},
                        {"compression", options.compression}};
  const CsvDialect dialect = dialect_of(attributes);
  const std::string line = first_row_of(found[0], packing_of(kCsv, options.compression), dialect);
  const auto fields = split_csv_row(kCsv, dialect, {line, &found[0].path, 0, 1});
  const std::vector<std::string> column_names = options.header ? fields : std::vector<std::string>();

  std::vector<CsvTensor> tensors = options.tensors;
  for (std::size_t i = 0; options.tensors.empty() && i < fields.size(); ++i) {
    tensors.push_back({.columns = {CsvColumn(static_cast<int>(i))}});
  }
  std::vector<std::string> names, dtypes, defaults;
  std::vector<std::int64_t> widths, has_default, columns;
  for (const CsvTensor& tensor : tensors) {
    for (const CsvColumn& column : tensor.columns) columns.push_back(number_of(column, column_names, found[0].path));
    const std::size_t first =
        tensor.columns.empty() ? 0 : static_cast<std::size_t>(columns[columns.size() - tensor.columns.size()]);
    const std::string column_name = first < column_names.size() ? column_names[first] : std::to_string(first);
    names.push_back(tensor.name.empty() ? column_name : tensor.name);
    dtypes.emplace_back(to_string(tensor.dtype));
    widths.push_back(static_cast<std::int64_t>(tensor.columns.size()));
    has_default.push_back(tensor.default_value ? 1 : 0);
    defaults.push_back(tensor.default_value.value_or(""));
  }
  attributes.set("header_line", options.header ? line : std::string());
  attributes.set("column_names", column_names);
  attributes.set("file_columns", static_cast<std::int64_t>(fields.size()));
  attributes.set("names", names);
  attributes.set("dtypes", dtypes);
  attributes.set("widths", widths);
  attributes.set("has_default", has_default);
  attributes.set("defaults", defaults);
  attributes.set("columns", columns);
  add_input_files(found, attributes);
  return Dataset::make("csv", {}, std::move(attributes));
}

Dataset csv(const std::string& file, const CsvOptions& options) { return csv(std::vector<std::string>{file}, options); }

}  // namespace cohort::datasets
