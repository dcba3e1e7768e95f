#include "cohort/datasets/sources/text_lines.h"

#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kTextLines = "datasets.text_lines";

class TextLinesIterator : public FileRecords {
 public:
  TextLinesIterator(std::shared_ptr<const FilesOfRecords> files, std::int64_t header_lines)
      : FileRecords(kTextLines, std::move(files)), header_lines_(header_lines) {}

 protected:
  bool measure(std::string_view bytes, bool at_end, RecordExtent& extent) const override {
    return measure_line(bytes, at_end, extent);
  }
  void begin_file() override {
    RecordExtent extent;
    for (std::int64_t i = 0; i < header_lines_ && locate(0, extent); ++i) pass(extent);
  }
  void parse(const RecordText& record, std::span<const RowMemory> leaves, std::size_t row) const override {
    reinterpret_cast<std::string*>(leaves[0].first)[row].assign(record.text);
  }

 private:
  std::int64_t header_lines_;
};

class TextLinesStage : public DatasetStage {
 public:
  TextLinesStage(FilesOfRecords files, std::int64_t header_lines)
      : files_(std::make_shared<const FilesOfRecords>(std::move(files))), header_lines_(header_lines) {
    if (header_lines < 0) {
      throw invalid_argument(kTextLines, "skip_header_lines must not be negative",
                             {{"skip_header_lines", header_lines}});
    }
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<TextLinesIterator>(files_, header_lines_);
  }

 private:
  std::shared_ptr<const FilesOfRecords> files_;
  std::int64_t header_lines_;
  ElementSpec spec_ = TensorSpec{DType::String, {}};
};

std::shared_ptr<const DatasetStage> make_text_lines(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kTextLines, inputs);
  return std::make_shared<TextLinesStage>(
      FilesOfRecords{input_files_of(kTextLines, attributes),
                     packing_of(kTextLines, attributes.get<std::string>("compression")),
                     {TensorSpec{DType::String, {}}}},
      attributes.get<std::int64_t>("skip_header_lines"));
}

COHORT_DATASET("text_lines", make_text_lines);

}  // namespace

Dataset text_lines(const std::vector<std::string>& files, const TextLinesOptions& options) {
  Attributes attributes{{"compression", options.compression}, {"skip_header_lines", options.skip_header_lines}};
  add_input_files(find_input_files(kTextLines, files), attributes);
  return Dataset::make("text_lines", {}, std::move(attributes));
}

Dataset text_lines(const std::string& file, const TextLinesOptions& options) {
  return text_lines(std::vector<std::string>{file}, options);
}

}  // namespace cohort::datasets
