#include "cohort/datasets/sources/fixed_length_records.h"

#include <algorithm>
#include <cstring>

#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/open_source_files.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kFixedLength = "datasets.fixed_length_records";

// Sizes of the parts of a file.
struct RecordLayout {
  std::uint64_t header, record, footer;
  bool as_bytes;

  TensorSpec spec() const {
    if (!as_bytes) return {DType::String, {}};
    return {DType::UInt8, {static_cast<std::int64_t>(record)}};
  }
  std::uint64_t records_of(const InputFile& file) const {
    const std::uint64_t around = header + footer;
    if (file.bytes < around || (file.bytes - around) % record != 0) {
      throw invalid_argument(kFixedLength, "header, whole records and footer are expected",
                             {{"file", file.path},
                              {"bytes", file.bytes},
                              {"header_bytes", header},
                              {"record_bytes", record},
                              {"footer_bytes", footer}});
    }
    return (file.bytes - around) / record;
  }
};

// Which records are in which file.
struct RecordTable {
  std::vector<InputFile> files;
  RecordLayout layout;
  std::vector<std::uint64_t> ends;  // for each file, number of records in it and those before

  std::uint64_t count() const { return ends.empty() ? 0 : ends.back(); }
  std::size_t file_of(std::uint64_t record) const {
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), record) - ends.begin());
  }
  std::uint64_t first_of(std::size_t file) const { return file == 0 ? 0 : ends[file - 1]; }
  std::uint64_t offset_of(std::uint64_t record, std::size_t file) const {
    return layout.header + (record - first_of(file)) * layout.record;
  }
};

class FixedLengthElements : public IndexedElements {
 public:
  explicit FixedLengthElements(std::shared_ptr<const RecordTable> table) : table_(std::move(table)) {}

  std::uint64_t count() const override { return table_->count(); }
  ElementKey key(ElementPlace place) const override {
    const std::size_t file = table_->file_of(place.position);
    return {place.pass, record_key(table_->files[file], place.position - table_->first_of(file))};
  }
  void read(ElementPlace place, Tensors& element) const override {
    element.resize(1);
    renew_leaf(table_->layout.spec(), element[0]);
    auto* target = static_cast<char*>(element[0].raw());
    if (!table_->layout.as_bytes) {
      auto& text = *static_cast<std::string*>(element[0].raw());
      text.resize(static_cast<std::size_t>(table_->layout.record));
      target = text.data();
    }
    read_run(place.position, 1, target);
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves, const Specs&) const override {
    for (std::size_t first = 0; first < places.size();) {
      std::size_t run = 1;
      const std::uint64_t record = places[first].position;
      const std::uint64_t end = table_->ends[table_->file_of(record)];
      while (first + run < places.size() && record + run < end && places[first + run].position == record + run) ++run;
      read_run(record, run, leaves[0].first + first * leaves[0].row_bytes);
      first += run;
    }
  }
  bool blocks() const override { return true; }
  // Reading takes no computing: several threads have nothing to gain.
  std::size_t parallel_reads() const override { return 1; }

 private:
  // Records of one file.
  void read_run(std::uint64_t record, std::size_t count, char* target) const {
    const std::size_t file = table_->file_of(record);
    try {
      open_.get(table_->files, file)
          ->read_at(table_->offset_of(record, file), target, count * static_cast<std::size_t>(table_->layout.record));
    } catch (const Error& error) {
      throw BrokenSource(error);
    }
  }

  std::shared_ptr<const RecordTable> table_;
  mutable OpenSourceFiles open_{kFixedLength};
};

class PackedRecordsIterator : public FileRecords {
 public:
  PackedRecordsIterator(std::shared_ptr<const FilesOfRecords> files, RecordLayout layout)
      : FileRecords(kFixedLength, std::move(files)), layout_(layout) {}

 protected:
  bool measure(std::string_view bytes, bool at_end, RecordExtent& extent) const override {
    const bool whole = bytes.size() >= layout_.record + layout_.footer;
    if (!whole && !at_end) return false;
    if (!whole && bytes.size() != layout_.footer) cut_short();
    extent.is_element = whole;
    extent.content = extent.whole = static_cast<std::size_t>(whole ? layout_.record : layout_.footer);
    return true;
  }
  void begin_file() override {
    const auto header = static_cast<std::size_t>(layout_.header);
    if (peek(header).size() < header) cut_short();
    pass({header, header});
  }
  void parse(const RecordText& record, std::span<const RowMemory> leaves, std::size_t row) const override {
    if (layout_.as_bytes) {
      std::memcpy(leaves[0].first + row * leaves[0].row_bytes, record.text.data(), record.text.size());
    } else {
      reinterpret_cast<std::string*>(leaves[0].first)[row].assign(record.text);
    }
  }

 private:
  [[noreturn]] void cut_short() const {
    const RecordText here = text_at(0, 0, 0);
    throw BrokenSource(
        ErrorCode::DataLoss, kFixedLength, "header, whole records and footer are expected",
        {{"file", *here.file}, {"record_bytes", layout_.record}, {"offset", here.offset}, {"problem", "it is cut"}});
  }

  RecordLayout layout_;
};

class FixedLengthStage : public DatasetStage {
 public:
  FixedLengthStage(FilesOfRecords files, RecordLayout layout) : layout_(layout), spec_(layout.spec()) {
    if (files.packing == Packing::None) {
      RecordTable table{std::move(files.files), layout, {}};
      std::uint64_t count = 0;
      for (const InputFile& file : table.files) table.ends.push_back(count += layout.records_of(file));
      table_ = std::make_shared<const RecordTable>(std::move(table));
    } else {
      packed_ = std::make_shared<const FilesOfRecords>(std::move(files));
    }
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    return table_ ? static_cast<std::int64_t>(table_->count()) : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (table_) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<PackedRecordsIterator>(packed_, layout_);
  }
  bool is_indexed() const override { return table_ != nullptr; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<FixedLengthElements>(table_); }

 private:
  RecordLayout layout_;
  ElementSpec spec_;
  std::shared_ptr<const RecordTable> table_;      // of files that are not packed
  std::shared_ptr<const FilesOfRecords> packed_;  // or these
};

std::uint64_t size_attribute(const Attributes& attributes, const char* name, std::int64_t least) {
  const auto bytes = attributes.get<std::int64_t>(name);
  if (bytes < least || bytes > static_cast<std::int64_t>(kMostRecordBytes)) {
    throw invalid_argument(kFixedLength, std::string("a size from ") + std::to_string(least) + " to 1 GiB is expected",
                           {{name, bytes}});
  }
  return static_cast<std::uint64_t>(bytes);
}

std::shared_ptr<const DatasetStage> make_fixed_length(const std::vector<Dataset>& inputs,
                                                      const Attributes& attributes) {
  check_no_inputs(kFixedLength, inputs);
  const RecordLayout layout{size_attribute(attributes, "header_bytes", 0),
                            size_attribute(attributes, "record_bytes", 1),
                            size_attribute(attributes, "footer_bytes", 0), attributes.get<bool>("as_bytes")};
  return std::make_shared<FixedLengthStage>(
      FilesOfRecords{input_files_of(kFixedLength, attributes),
                     packing_of(kFixedLength, attributes.get<std::string>("compression")),
                     {layout.spec()}},
      layout);
}

COHORT_DATASET("fixed_length_records", make_fixed_length);

}  // namespace

Dataset fixed_length_records(const std::vector<std::string>& files, std::int64_t record_bytes,
                             const FixedLengthRecordsOptions& options) {
  Attributes attributes{{"record_bytes", record_bytes},
                        {"header_bytes", options.header_bytes},
                        {"footer_bytes", options.footer_bytes},
                        {"compression", options.compression},
                        {"as_bytes", options.as_bytes}};
  add_input_files(find_input_files(kFixedLength, files), attributes);
  return Dataset::make("fixed_length_records", {}, std::move(attributes));
}

Dataset fixed_length_records(const std::string& file, std::int64_t record_bytes,
                             const FixedLengthRecordsOptions& options) {
  return fixed_length_records(std::vector<std::string>{file}, record_bytes, options);
}

}  // namespace cohort::datasets
