#include "cohort/datasets/sources/file_records.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "cohort/core/thread_pool.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/transforms/first_error.h"

namespace cohort::datasets {
namespace {

// Text parsed by one thread at a stretch: far above what starting a block costs.
constexpr std::size_t kParseGrainBytes = std::size_t{16} << 10;
constexpr std::size_t kFirstLookBytes = std::size_t{64} << 10;

}  // namespace

bool measure_line(std::string_view bytes, bool at_end, RecordExtent& extent) {
  const auto* end = static_cast<const char*>(std::memchr(bytes.data(), '\n', bytes.size()));
  if (!end && !at_end) return false;
  const std::size_t length = end ? static_cast<std::size_t>(end - bytes.data()) : bytes.size();
  extent.content = end && length > 0 && bytes[length - 1] == '\r' ? length - 1 : length;
  extent.whole = end ? length + 1 : length;
  extent.lines = 1;
  extent.is_element = true;
  return true;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string part(text.substr(0, kMost));
  for (char& c : part) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return "'" + part + (text.size() > kMost ? "...'" : "'");
}

void renew_leaf(const TensorSpec& spec, Tensor& leaf) {
  if (spec.dtype != DType::String) return leaf.renew(spec.dtype, spec.shape, cpu());
  if (leaf.owns_memory() && leaf.spec() == spec) return;
  leaf = Tensor::of_strings(std::vector<std::string>(static_cast<std::size_t>(spec.shape.num_elements())), spec.shape);
}

FileRecords::FileRecords(const char* who, std::shared_ptr<const FilesOfRecords> files)
    : who_(who), files_(std::move(files)), window_(who, files_->packing), row_(files_->specs.size()) {
  for (std::size_t i = 0; i < row_.size(); ++i) {
    const TensorSpec& spec = files_->specs[i];
    row_[i].row_bytes = static_cast<std::size_t>(spec.shape.num_elements()) *
                        (spec.dtype == DType::String ? sizeof(std::string) : size_of(spec.dtype));
  }
}

bool FileRecords::next(Tensors& element) {
  RecordExtent extent;
  if (!find(extent)) return false;
  const RecordText record = text_at(0, extent.content, 0);
  pass(extent);  // before it can fail; its bytes stay where they are until more are read
  count_records(1);
  element.resize(row_.size());
  for (std::size_t i = 0; i < row_.size(); ++i) {
    renew_leaf(files_->specs[i], element[i]);
    row_[i].first = static_cast<char*>(element[i].raw());
  }
  parse(record, row_, 0);
  return true;
}

RowStream::Rows FileRecords::next_rows(std::span<const RowMemory> leaves, std::size_t count) {
  Rows rows;
  while (rows.count < count) {
    RecordExtent extent;
    if (!find(extent)) break;
    const std::size_t got = find_rows(count - rows.count);
    if (rows.count == 0) rows.first = ElementKey{pass_, record_key(files_->files[file_], record_)};
    std::exception_ptr error;
    try {
      parse_rows(leaves, rows.count);
    } catch (...) {
      error = std::current_exception();
    }
    const Found& last = found_[got - 1];
    locate(last.ahead, extent);
    extent.whole += last.ahead;
    extent.lines += last.lines_ahead;
    pass(extent);
    count_records(got);
    rows.count += got;
    if (error) {
      skip(count - rows.count);
      std::rethrow_exception(error);
    }
  }
  return rows;
}

// Finds rows in this file: at least one, since find() found it.
std::size_t FileRecords::find_rows(std::size_t count) {
  found_.clear();
  Found at{0, 0, 0};
  RecordExtent extent;
  while (found_.size() < count && at.ahead < kMostRecordBytes && locate(at.ahead, extent)) {
    at.length = extent.content;
    if (extent.is_element) found_.push_back(at);
    at.ahead += extent.whole;
    at.lines_ahead += extent.lines;
  }
  return found_.size();
}

// Of several rows that fail it is the first whose error is thrown.
void FileRecords::parse_rows(std::span<const RowMemory> leaves, std::size_t first_row) const {
  const auto count = static_cast<std::int64_t>(found_.size());
  const std::size_t bytes = found_.back().ahead + found_.back().length;
  const std::int64_t grain = std::max<std::int64_t>(
      1, count * static_cast<std::int64_t>(kParseGrainBytes) / static_cast<std::int64_t>(bytes + 1));
  FirstError error;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t row = begin;
    try {
      for (; row < end; ++row) {
        const Found& found = found_[static_cast<std::size_t>(row)];
        parse(text_at(found.ahead, found.length, found.lines_ahead), leaves, first_row + static_cast<std::size_t>(row));
      }
    } catch (...) {
      error.note(row);
    }
  });
  error.rethrow();
}

void FileRecords::rewind() {
  close();
  ++pass_;
  known_by_ = file_ = record_ = offset_ = line_ = 0;
}

std::uint64_t FileRecords::skip(std::uint64_t count) {
  std::uint64_t passed = 0;
  RecordExtent extent;
  while (passed < count && find(extent)) {
    pass(extent);
    count_records(1);
    ++passed;
  }
  return passed;
}

std::optional<ElementKey> FileRecords::key() const {
  if (known_by_ == 0) return std::nullopt;
  return ElementKey{pass_, known_by_ - 1};
}

void FileRecords::count_records(std::uint64_t records) {
  record_ += records;
  known_by_ = record_key(files_->files[file_], record_ - 1) + 1;
}

void FileRecords::save_to(StateWriter& state) const {
  state.stage('F');
  for (const std::uint64_t number : {pass_, known_by_, file_, record_, offset_, line_}) state.number(number);
}

void FileRecords::restore_from(StateReader& state) {
  state.stage('F');
  close();
  for (std::uint64_t* number : {&pass_, &known_by_, &file_, &record_, &offset_, &line_}) *number = state.number();
  const std::size_t count = files_->files.size();
  if (file_ > count || (file_ == count && offset_ > 0) ||
      (file_ < count && files_->packing == Packing::None && offset_ > files_->files[file_].bytes)) {
    throw invalid_argument(who_, "a position in its files is expected",
                           {{"file", file_}, {"files", count}, {"offset", offset_}});
  }
}

// Goes to the next element, in this file or a later one.
bool FileRecords::find(RecordExtent& extent) {
  while (file_ < files_->files.size()) {
    if (!window_.is_open()) open();
    while (locate(0, extent)) {
      if (extent.is_element) return true;
      pass(extent);
    }
    close();
    ++file_;
    record_ = offset_ = line_ = 0;
  }
  return false;
}

void FileRecords::open() {
  const bool at_start = offset_ == 0;
  try {
    window_.open(files_->files[file_], offset_);
    if (at_start) begin_file();
  } catch (...) {
    close();
    if (at_start) offset_ = line_ = 0;  // asked again, it begins with this file again
    throw;
  }
}

void FileRecords::close() { window_.close(); }

std::string_view FileRecords::peek(std::size_t bytes) {
  if (window_.unread().size() < bytes) window_.read_until(bytes);
  return window_.unread();
}

bool FileRecords::locate(std::size_t ahead, RecordExtent& extent) {
  bool at_end = false;
  // Twice as much each time, so that a long record is not searched again and again.
  for (std::size_t look = kFirstLookBytes;; look *= 2) {
    const std::string_view bytes = window_.unread().substr(std::min(ahead, window_.unread().size()));
    if (!bytes.empty() && measure(bytes, at_end, extent) && extent.content <= kMostRecordBytes) return true;
    if (at_end && bytes.empty()) return false;
    if (bytes.size() > kMostRecordBytes) {
      const RecordText record = text_at(ahead, 0, 0);
      throw BrokenSource(ErrorCode::ResourceExhausted, who_, "lines and records of at most 1 GiB are expected",
                         {{"file", *record.file}, {"offset", record.offset}});
    }
    const std::size_t wanted = std::min(std::max(look, 2 * bytes.size()), kMostRecordBytes + 2);
    at_end = !window_.read_until(ahead + wanted);
  }
}

void FileRecords::pass(const RecordExtent& extent) {
  window_.pass(extent.whole);
  offset_ += extent.whole;
  line_ += extent.lines;
}

RecordText FileRecords::text_at(std::size_t ahead, std::size_t length, std::uint64_t lines_ahead) const {
  return {window_.unread().substr(ahead, length), &files_->files[file_].path, offset_ + ahead, line_ + lines_ahead + 1};
}

}  // namespace cohort::datasets
