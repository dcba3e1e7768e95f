#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/data/iterator.h"
#include "cohort/data/row_stream.h"
#include "cohort/datasets/sources/file_window.h"

namespace cohort::datasets {

// No line or record may be longer.
inline constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;

// Files, how they are packed, and what their records become.
struct FilesOfRecords {
  std::vector<InputFile> files;
  Packing packing = Packing::None;
  Specs specs;  // of the elements' leaves
};

// How far a record reaches.
struct RecordExtent {
  std::size_t content = 0;  // bytes of it
  std::size_t whole = 0;    // and of what separates it from the next
  std::uint64_t lines = 1;  // lines that it takes
  bool is_element = true;   // or nothing: a blank line, a footer
};

// A record and where it stands.
struct RecordText {
  std::string_view text;
  const std::string* file;
  std::uint64_t offset;  // among the file's unpacked bytes
  std::uint64_t line;    // from 1
};

// Base of iterators over files of records that only reading tells apart. Its position is a file, an offset and a line:
// restoring goes there at once, or, in a packed file, by unpacking what is before.
class FileRecords : public DatasetIterator, public RowStream {
 public:
  // `who` names the source in errors.
  FileRecords(const char* who, std::shared_ptr<const FilesOfRecords> files);

  bool next(Tensors& element) final;
  Rows next_rows(std::span<const RowMemory> leaves, std::size_t count) final;
  void rewind() final;
  std::uint64_t skip(std::uint64_t count) final;
  std::optional<ElementKey> key() const final;
  void save_to(StateWriter& state) const final;
  void restore_from(StateReader& state) final;

 protected:
  // Finds the end of the record that begins with `bytes`, of which there are some; false when it takes more of them to
  // tell. `at_end`: there are no more; then it is true.
  virtual bool measure(std::string_view bytes, bool at_end, RecordExtent& extent) const = 0;
  // Writes a record into its row. Called by several threads at a time.
  virtual void parse(const RecordText& record, std::span<const RowMemory> leaves, std::size_t row) const = 0;
  // Called at the beginning of a file: goes past what stands before the records.
  virtual void begin_file() {}

  // For begin_file(). The next bytes of the file, at least as many as asked unless it ends.
  std::string_view peek(std::size_t bytes);
  // Finds the record `ahead` bytes on; false when there are no bytes.
  bool locate(std::size_t ahead, RecordExtent& extent);
  // Goes past it.
  void pass(const RecordExtent& extent);
  // The next bytes, `length` of them, and where they stand.
  RecordText text_at(std::size_t ahead, std::size_t length, std::uint64_t lines_ahead) const;
  const char* who() const { return who_; }

 private:
  struct Found {
    std::size_t ahead, length;
    std::uint64_t lines_ahead;
  };

  bool find(RecordExtent& extent);
  void open();
  void close();
  void count_records(std::uint64_t records);
  std::size_t find_rows(std::size_t count);
  void parse_rows(std::span<const RowMemory> leaves, std::size_t first_row) const;

  const char* who_;
  std::shared_ptr<const FilesOfRecords> files_;
  FileWindow window_;
  std::vector<Found> found_;
  std::vector<RowMemory> row_;  // memory of one element
  std::uint64_t pass_ = 0;
  std::uint64_t known_by_ = 0;  // what the last element is known by, and 1; 0: there is none
  std::uint64_t file_ = 0, record_ = 0, offset_ = 0, line_ = 0;  // of the next
};

// A line: up to the next "\n", without it and a "\r" before it; at the end of the file, up to there.
bool measure_line(std::string_view bytes, bool at_end, RecordExtent& extent);
// Part of a text for an error: not too long, on one line.
std::string shown(std::string_view text);
// `leaf` becomes memory for a value: new strings, or numbers not set yet; what nobody else has is used again.
void renew_leaf(const TensorSpec& spec, Tensor& leaf);

}  // namespace cohort::datasets
