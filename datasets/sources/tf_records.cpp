#include "cohort/datasets/sources/tf_records.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/source_file.h"
#include "cohort/files/crc32c.h"
#include "cohort/files/record.h"

namespace cohort::datasets {
namespace {

constexpr const char* kTFRecords = "datasets.tf_records";
constexpr std::uint64_t kMostOfRecord = std::uint64_t{1} << 30;
constexpr std::size_t kLengthBytes = 8, kSumBytes = 4, kRecordHeader = kLengthBytes + kSumBytes;
constexpr std::size_t kBlockOfRecords = std::size_t{1} << 20;

template <class T>
T record_number(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The records of one file from an offset on.
class RecordFile {
 public:
  RecordFile(const InputFile& file, Packing packing, std::uint64_t offset)
      : file_(kTFRecords, file), plain_(packing == Packing::None), bytes_(bytes_of(kTFRecords, file_, packing)) {
    if (offset > 0 && bytes_->pass(offset) < offset) {
      throw Error(ErrorCode::DataLoss, kTFRecords, "a position inside the file is expected",
                  {{"file", file.path}, {"offset", offset}});
    }
    offset_ = offset;
  }

  // Where the next record begins, in unpacked bytes.
  std::uint64_t offset() const { return offset_; }
  // Copies the next record; false at the end. Throws where the rest cannot be read. `whole` tells whether its bytes fit
  // their sum.
  bool next(std::string& record, bool& whole) {
    std::uint64_t length = 0;
    if (!read_length(length)) return false;
    const std::size_t rest = static_cast<std::size_t>(length) + kSumBytes;
    if (available(kRecordHeader + rest) < kRecordHeader + rest) cut_off();
    const char* bytes = buffer_.get() + begin_ + kRecordHeader;
    record.resize(static_cast<std::size_t>(length));
    const std::uint32_t sum = crc32c_copy(0, record.data(), bytes, record.size());
    whole = std::rotr(sum, 15) + kMask == record_number<std::uint32_t>(bytes + length);
    advance(kRecordHeader + rest);
    return true;
  }
  // Goes past the next record without looking at its bytes; false at the end.
  bool pass() {
    std::uint64_t length = 0;
    if (!read_length(length)) return false;
    const std::uint64_t whole = kRecordHeader + length + kSumBytes;
    const std::uint64_t held = end_ - begin_;
    if (whole <= held) {
      advance(static_cast<std::size_t>(whole));
      return true;
    }
    begin_ = end_ = 0;
    if (bytes_->pass(whole - held) < whole - held) cut_off();
    offset_ += whole;
    return true;
  }

 private:
  static constexpr std::uint32_t kMask = 0xa282ead8u;

  bool read_length(std::uint64_t& length) {
    const std::size_t got = available(kRecordHeader);
    if (got == 0) return false;
    if (got < kRecordHeader) cut_off();
    const char* header = buffer_.get() + begin_;
    length = record_number<std::uint64_t>(header);
    if (masked_crc32c({header, kLengthBytes}) != record_number<std::uint32_t>(header + kLengthBytes)) {
      lost("a record whose length fits its sum is expected");
    }
    if (length > kMostOfRecord) lost("a record of at most 1 GiB is expected");
    // Nothing is allocated for what the file cannot hold.
    if (plain_ && length + kRecordHeader + kSumBytes > file_.size() - offset_) cut_off();
    return true;
  }

  // Lets `wanted` bytes stand in the buffer from begin_ on; how many there are, fewer at the end.
  std::size_t available(std::size_t wanted) {
    while (end_ - begin_ < wanted) {
      if (begin_ > 0) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
      }
      if (end_ == capacity_) grow();
      const std::size_t got = bytes_->read(buffer_.get() + end_, capacity_ - end_);
      if (got == 0) break;
      end_ += got;
    }
    return std::min(wanted, end_ - begin_);
  }
  // By what has been read, not by what a length claims.
  void grow() {
    const std::size_t larger = capacity_ == 0 ? kBlockOfRecords : 2 * capacity_;
    auto memory = std::make_unique_for_overwrite<char[]>(larger);
    if (end_ > 0) std::memcpy(memory.get(), buffer_.get(), end_);
    buffer_ = std::move(memory);
    capacity_ = larger;
  }
  void advance(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  [[noreturn]] void cut_off() const { lost("a record that ends before its file does is expected"); }
  [[noreturn]] void lost(const char* expected) const {
    throw Error(ErrorCode::DataLoss, kTFRecords, expected, {{"file", file_.path()}, {"offset", offset_}},
                "The rest of the file is lost; write it again, or name its compression.");
  }

  SourceFile file_;
  bool plain_;
  std::unique_ptr<SourceBytes> bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

struct RecordFiles {
  std::vector<InputFile> files;
  Packing packing = Packing::None;
};

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
    const bool more = take([&](RecordFile& file) {
      offset = file.offset();
      return file.next(record, whole);
    });
    if (more && !whole) {
      throw Error(ErrorCode::DataLoss, kTFRecords, "a record whose bytes fit their sum is expected",
                  {{"file", files_->files[file_].path}, {"offset", offset}, {"record", record_ - 1}},
                  "Write the file again, or leave such records out.");
    }
    return more;
  }
  std::uint64_t skip(std::uint64_t count) override {
    std::uint64_t passed = 0;
    while (passed < count) {
      const std::uint64_t before = taken_;
      try {
        if (!take([](RecordFile& file) { return file.pass(); })) break;
      } catch (const BrokenSource&) {
        throw;
      } catch (const Error&) {
        if (taken_ == before) throw;  // it is not the place of an element
      }
      ++passed;
    }
    return passed;
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
    reader_ = std::make_unique<RecordFile>(files_->files[file_], files_->packing, offset_);
  } catch (const Error& error) {
    throw BrokenSource(error);
  }
  void next_file() {
    reader_.reset();
    ++file_;
    offset_ = record_ = 0;
  }

  std::shared_ptr<const RecordFiles> files_;
  std::unique_ptr<RecordFile> reader_;  // of the file at hand, once something is read
  std::uint64_t pass_ = 0;
  std::uint64_t known_by_ = 0;  // what the last element is known by, and 1; 0: there is none
  std::uint64_t taken_ = 0;     // elements, by this iterator
  std::size_t file_ = 0;
  std::uint64_t record_ = 0;  // the next one's number in the file
  std::uint64_t offset_ = 0;  // where the reader begins
};

class TFRecordsStage : public DatasetStage {
 public:
  explicit TFRecordsStage(RecordFiles files) : files_(std::make_shared<const RecordFiles>(std::move(files))) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return files_->files.empty() ? 0 : kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<TFRecordsIterator>(files_); }

 private:
  std::shared_ptr<const RecordFiles> files_;
  ElementSpec spec_ = TensorSpec{DType::String, {}};
};

COHORT_DATASET("tf_records", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kTFRecords, inputs);
  return std::make_shared<TFRecordsStage>(RecordFiles{
      input_files_of(kTFRecords, attributes), packing_of(kTFRecords, attributes.get<std::string>("compression"))});
});

}  // namespace

Dataset tf_records(std::vector<std::string> files, TFRecordsOptions options) {
  Attributes attributes{{"compression", options.compression}};
  add_input_files(files.empty() ? std::vector<InputFile>{} : find_input_files(kTFRecords, files), attributes);
  return Dataset::make("tf_records", {}, std::move(attributes));
}

}  // namespace cohort::datasets
