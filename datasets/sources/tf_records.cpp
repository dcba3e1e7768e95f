#include "cohort/datasets/sources/tf_records.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/open_source_files.h"
#include "cohort/datasets/sources/records_index.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/tf_record_file.h"
#include "cohort/files/crc32c.h"

namespace cohort::datasets {
namespace {

constexpr const char* kTFRecords = "datasets.tf_records";
constexpr const char* kRecordCounts = "records";
constexpr const char* kIndexFiles = "index_files";
constexpr const char* kIndexBytes = "index_bytes";

struct RecordFiles {
  std::vector<InputFile> files;
  Packing packing = Packing::None;
};

[[noreturn]] void damaged(const InputFile& file, std::uint64_t offset, std::uint64_t record) {
  throw Error(ErrorCode::DataLoss, kTFRecords, "a record whose bytes fit their sum is expected",
              {{"file", file.path}, {"offset", offset}, {"record", record}},
              "Write the file again, or leave such records out.");
}

// The string of a scalar that nobody else has; what there was is used again.
std::string& scalar_string(Tensors& element) {
  element.resize(1);
  Tensor& leaf = element[0];
  if (!leaf.defined() || leaf.is_symbolic() || leaf.dtype() != DType::String || leaf.rank() != 0 ||
      !leaf.owns_memory()) {
    leaf = Tensor::of_strings({std::string()}, {});
  }
  return *static_cast<std::string*>(leaf.raw());
}

class TFRecordsIterator : public DatasetIterator {
 public:
  explicit TFRecordsIterator(std::shared_ptr<const RecordFiles> files) : files_(std::move(files)) {}

  bool next(Tensors& element) override {
    std::string& record = scalar_string(element);
    bool whole = true;
    std::uint64_t offset = 0;
    const bool more = take([&](TFRecordFile& file) {
      offset = file.offset();
      return file.next(record, whole);
    });
    if (more && !whole) damaged(files_->files[file_], offset, record_ - 1);
    return more;
  }
  std::uint64_t skip(std::uint64_t count) override {
    return skip_elements(count, taken_, [&] { return take([](TFRecordFile& file) { return file.pass(); }); });
  }
  std::optional<ElementKey> key() const override {
    if (known_by_ == 0) return std::nullopt;
    return ElementKey{pass_, known_by_ - 1};
  }
  void rewind() override {
    reader_.reset();
    ++pass_;
    file_ = 0;
    offset_ = record_ = known_by_ = 0;
  }
  void save_to(StateWriter& state) const override {
    state.stage('R');
    state.number(pass_);
    state.number(known_by_);
    state.number(file_);
    state.number(record_);
    state.number(reader_ ? reader_->offset() : offset_);
  }
  void restore_from(StateReader& state) override {
    state.stage('R');
    const std::uint64_t pass = state.number(), known_by = state.number(), file = state.number();
    const std::uint64_t record = state.number(), offset = state.number();
    const bool inside = file < files_->files.size() ? files_->packing != Packing::None ||
                                                          offset <= files_->files[static_cast<std::size_t>(file)].bytes
                                                    : file == files_->files.size() && offset == 0;
    if (!inside) {
      throw invalid_argument("Iterator.restore", "a position inside the files is expected",
                             {{"file", file}, {"offset", offset}});
    }
    reader_.reset();
    pass_ = pass;
    known_by_ = known_by;
    record_ = record;
    file_ = static_cast<std::size_t>(file);
    offset_ = offset;
  }

 private:
  // Lets `step` take or pass one record, of the next file where one ends; false behind the last. An error of `step`
  // stands for the rest of its file and counts as one element.
  template <class Step>
  bool take(const Step& step) {
    for (; file_ < files_->files.size(); next_file()) {
      if (!reader_) open();
      try {
        if (!step(*reader_)) continue;
      } catch (const Error& error) {
        // What may come right by itself costs no record: asked again, it is read from there again.
        if (error.retryable()) {
          offset_ = reader_->offset();
          reader_.reset();
          throw BrokenSource(error);
        }
        count_record();
        next_file();
        throw;
      }
      count_record();
      return true;
    }
    return false;
  }
  void count_record() {
    ++taken_;
    known_by_ = record_key(files_->files[file_], record_++) + 1;
  }
  void open() try {
    reader_ = std::make_unique<TFRecordFile>(kTFRecords, files_->files[file_], files_->packing, offset_);
  } catch (const Error& error) {
    throw BrokenSource(error);
  }
  void next_file() {
    reader_.reset();
    ++file_;
    offset_ = record_ = 0;
  }

  std::shared_ptr<const RecordFiles> files_;
  std::unique_ptr<TFRecordFile> reader_;  // of the file at hand, once something is read
  std::uint64_t pass_ = 0;
  std::uint64_t known_by_ = 0;  // what the last element is known by, and 1; 0: there is none
  std::uint64_t taken_ = 0;     // elements, by this iterator
  std::size_t file_ = 0;
  std::uint64_t record_ = 0;  // the next one's number in the file
  std::uint64_t offset_ = 0;  // where the reader begins
};

// How many records each file has, and where, found when the first of them is read.
class TFRecordTable {
 public:
  //   index: files that say where the records are; none: the records themselves do.
  TFRecordTable(std::vector<InputFile> files, std::vector<std::uint64_t> counts, std::vector<InputFile> index)
      : files_(std::move(files)),
        index_(std::move(index)),
        places_(std::make_unique<ReadOnce<std::vector<RecordPlace>>[]>(files_.size())) {
    std::uint64_t count = 0;
    for (const std::uint64_t each : counts) ends_.push_back(count += each);
  }

  const std::vector<InputFile>& files() const { return files_; }
  std::uint64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  // The file of a record, whose number becomes the one in that file.
  std::size_t file_of(std::uint64_t& record) const {
    const auto file = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), record) - ends_.begin());
    record -= first_of(file);
    return file;
  }
  const RecordPlace& place(std::size_t file, std::uint64_t record) const {
    return places_[file].get([&] { return read_places(file); })[static_cast<std::size_t>(record)];
  }
  // The index that names a file's records; nullptr where it is the file itself.
  const InputFile* index_of(std::size_t file) const { return index_.empty() ? nullptr : &index_[file]; }

 private:
  std::uint64_t first_of(std::size_t file) const { return file == 0 ? 0 : ends_[file - 1]; }
  std::vector<RecordPlace> read_places(std::size_t file) const {
    std::vector<RecordPlace> places = index_.empty() ? find_records(kTFRecords, files_[file])
                                                     : read_records_index(kTFRecords, index_[file], files_[file]);
    if (const std::uint64_t expected = ends_[file] - first_of(file); places.size() != expected) {
      throw Error(ErrorCode::DataLoss, kTFRecords, "as many records as when the dataset was made are expected",
                  {{"file", files_[file].path}, {"records", places.size()}, {"expected", expected}},
                  "Make the dataset anew.");
    }
    return places;
  }

  std::vector<InputFile> files_, index_;
  std::vector<std::uint64_t> ends_;  // for each file, number of records in it and those before
  std::unique_ptr<ReadOnce<std::vector<RecordPlace>>[]> places_;
};

// The records by number.
class TFRecordElements : public IndexedElements {
 public:
  explicit TFRecordElements(std::shared_ptr<const TFRecordTable> table) : table_(std::move(table)) {}

  std::uint64_t count() const override { return table_->count(); }
  ElementKey key(ElementPlace place) const override {
    const std::size_t file = table_->file_of(place.position);
    return {place.pass, record_key(table_->files()[file], place.position)};
  }
  void read(ElementPlace place, Tensors& element) const override {
    std::uint64_t number = place.position;
    const std::size_t file = table_->file_of(number);
    std::string& record = scalar_string(element);
    const RecordPlace& at = table_->place(file, number);
    // A place without a record has a header at most, which says what is wrong.
    record.resize(static_cast<std::size_t>(at.bytes > 0 ? at.bytes : kRecordHeader));
    const std::size_t got = read_bytes(file, at.offset, record);
    const InputFile& from = table_->files()[file];
    if (got < kRecordHeader) record_cut_off(kTFRecords, from.path, at.offset);
    check_length(record, at, file, number);
    const std::string_view bytes = std::string_view(record).substr(kRecordHeader, record.size() - kAround);
    if (!fits_footer(crc32c(bytes), bytes.data() + bytes.size())) damaged(from, at.offset, number);
    record.resize(record.size() - kRecordFooter);
    record.erase(0, kRecordHeader);
  }
  bool blocks() const override { return true; }

 private:
  static constexpr std::size_t kAround = kRecordHeader + kRecordFooter;

  std::size_t read_bytes(std::size_t file, std::uint64_t offset, std::string& bytes) const try {
    return open_.get(table_->files(), file)->read_at(offset, bytes.data(), bytes.size());
  } catch (const Error& error) {
    throw BrokenSource(error);
  }

  // An index may lie, and a file have changed since it was walked.
  void check_length(const std::string& record, const RecordPlace& at, std::size_t file, std::uint64_t number) const {
    const InputFile& from = table_->files()[file];
    const InputFile* index = table_->index_of(file);
    try {
      const std::uint64_t left = from.bytes - at.offset;
      if (length_of_record(kTFRecords, record.data(), from.path, at.offset, left) + kAround == at.bytes) return;
    } catch (const Error&) {
      if (!index) throw;
    }
    throw Error(
        ErrorCode::DataLoss, kTFRecords, "a record where the index says is expected",
        {{"index", index ? index->path : from.path}, {"line", number + 1}, {"file", from.path}, {"offset", at.offset}},
        "Make the index of this very file anew.");
  }

  std::shared_ptr<const TFRecordTable> table_;
  mutable OpenSourceFiles open_{kTFRecords};
};

class TFRecordsStage : public DatasetStage {
 public:
  //   table: where the records are; nullptr where only walking tells.
  TFRecordsStage(RecordFiles files, std::shared_ptr<const TFRecordTable> table)
      : files_(std::make_shared<const RecordFiles>(std::move(files))), table_(std::move(table)) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    if (table_) return static_cast<std::int64_t>(table_->count());
    return files_->files.empty() ? 0 : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (table_) return std::make_unique<IndexedIterator>(indexed());
    return std::make_unique<TFRecordsIterator>(files_);
  }
  bool is_indexed() const override { return table_ != nullptr; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<TFRecordElements>(table_); }

 private:
  std::shared_ptr<const RecordFiles> files_;
  std::shared_ptr<const TFRecordTable> table_;
  ElementSpec spec_ = TensorSpec{DType::String, {}};
};

// Attributes have an entry for each file that there was when the dataset was first made; of these a part may be left.
std::shared_ptr<const TFRecordTable> table_of(const RecordFiles& files, const Attributes& attributes) {
  if (!attributes.has(kRecordCounts)) return nullptr;
  const auto counts = attributes.get<std::vector<std::int64_t>>(kRecordCounts);
  const auto paths = attributes.get<std::vector<std::string>>(kIndexFiles);
  const auto bytes = attributes.get<std::vector<std::int64_t>>(kIndexBytes);
  const auto possible = [](std::int64_t n) { return n >= 0 && n < std::int64_t{1} << 40; };
  const bool fits = std::all_of(files.files.begin(), files.files.end(), [&](const InputFile& file) {
    return file.number < counts.size() && (paths.empty() || file.number < paths.size());
  });
  if (!fits || paths.size() != bytes.size() || files.packing != Packing::None ||
      !std::all_of(counts.begin(), counts.end(), possible) || !std::all_of(bytes.begin(), bytes.end(), possible)) {
    throw invalid_argument(kTFRecords,
                           "for each file that is not packed, its records and perhaps an index are expected",
                           {{"files", files.files.size()}, {"records", counts.size()}, {"index_files", paths.size()}});
  }
  std::vector<std::uint64_t> records;
  std::vector<InputFile> index;
  for (const InputFile& file : files.files) {
    const auto number = static_cast<std::size_t>(file.number);
    records.push_back(static_cast<std::uint64_t>(counts[number]));
    if (!paths.empty()) index.push_back({paths[number], static_cast<std::uint64_t>(bytes[number]), file.number});
  }
  return std::make_shared<const TFRecordTable>(files.files, std::move(records), std::move(index));
}

// Counts the records.
void add_table(const std::vector<InputFile>& files, const TFRecordsOptions& options, Attributes& attributes) {
  const std::vector<std::string>& paths = options.index_files;
  if (packing_of(kTFRecords, options.compression) != Packing::None) {
    throw invalid_argument(kTFRecords, "files that are not packed are expected where records are reached by number",
                           {{"compression", options.compression}}, "Unpack them, or leave the index out.");
  }
  if (!paths.empty() && paths.size() != files.size()) {
    throw invalid_argument(kTFRecords, "an index for each file is expected",
                           {{"files.size", files.size()}, {"index_files.size", paths.size()}});
  }
  std::vector<std::int64_t> counts, bytes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<RecordPlace> places;
    if (paths.empty()) {
      places = find_records(kTFRecords, files[i]);
    } else {
      const InputFile index{paths[i], SourceFile(kTFRecords, paths[i]).size(), i};
      bytes.push_back(static_cast<std::int64_t>(index.bytes));
      places = read_records_index(kTFRecords, index, files[i]);
    }
    counts.push_back(static_cast<std::int64_t>(places.size()));
  }
  attributes.set(kRecordCounts, counts);
  attributes.set(kIndexFiles, paths);
  attributes.set(kIndexBytes, bytes);
}

std::shared_ptr<const DatasetStage> make_tf_records(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kTFRecords, inputs);
  RecordFiles files{input_files_of(kTFRecords, attributes),
                    packing_of(kTFRecords, attributes.get<std::string>("compression"))};
  const std::shared_ptr<const TFRecordTable> table = table_of(files, attributes);
  return std::make_shared<TFRecordsStage>(std::move(files), table);
}

COHORT_DATASET("tf_records", make_tf_records);

}  // namespace

Dataset tf_records(std::vector<std::string> files, TFRecordsOptions options) {
  Attributes attributes{{"compression", options.compression}};
  const auto found = files.empty() ? std::vector<InputFile>{} : find_input_files(kTFRecords, files);
  add_input_files(found, attributes);
  if (options.indexed || !options.index_files.empty()) add_table(found, options, attributes);
  return Dataset::make("tf_records", {}, std::move(attributes));
}

}  // namespace cohort::datasets
