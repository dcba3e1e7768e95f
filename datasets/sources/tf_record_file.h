#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// What stands around the bytes of a record: their length and its sum before, their sum behind.
inline constexpr std::size_t kRecordHeader = 12, kRecordFooter = 4;

// The length of a record, and nothing else, is read from its header; throws DataLoss where there can be none.
//   who: names the source in errors.
//   file: where the header stands, and
//   offset: where in it.
//   left: bytes of the file from the header on, or UINT64_MAX where that is not known.
std::uint64_t length_of_record(const char* who, const char* header, const std::string& file, std::uint64_t offset,
                               std::uint64_t left);
// Whether the sum behind a record's bytes is theirs.
//   sum: what crc32c gives for them.
bool fits_footer(std::uint32_t sum, const char* footer);
// Says that a record ends with its file or behind it.
[[noreturn]] void record_cut_off(const char* who, const std::string& file, std::uint64_t offset);

// The records of one TFRecord file, from an offset on to its end. Not thread-safe.
class TFRecordFile {
 public:
  //   who: names the source in errors.
  //   offset: where a record begins, in unpacked bytes.
  TFRecordFile(const char* who, const InputFile& file, Packing packing, std::uint64_t offset);

  // Where the next record begins, in unpacked bytes.
  std::uint64_t offset() const { return offset_; }
  // Copies the next record; false at the end. Throws where the rest cannot be read. `whole` tells whether its bytes fit
  // their sum.
  bool next(std::string& record, bool& whole);
  // Goes past the next record without looking at its bytes; false at the end.
  bool pass();

 private:
  bool read_length(std::uint64_t& length);
  std::size_t available(std::size_t wanted);
  void grow();
  void advance(std::size_t bytes);

  const char* who_;
  SourceFile file_;
  bool plain_;
  std::unique_ptr<SourceBytes> bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace cohort::datasets
