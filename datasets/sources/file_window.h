#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// Walks through the unpacked bytes of one file after the other, a stretch of them in memory. What it throws is
// BrokenSource. Not thread-safe.
class FileWindow {
 public:
  FileWindow(const char* who, Packing packing);
  ~FileWindow();
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  // Opens a file and goes to an offset among its unpacked bytes: at once where it is not packed.
  void open(const InputFile& file, std::uint64_t offset);
  // Closes the file; the memory stays.
  void close();
  // Whether a file is open.
  bool is_open() const { return file_ != nullptr; }
  // The bytes in memory that come next.
  std::string_view unread() const { return {memory_.get() + begin_, end_ - begin_}; }
  // Reads until `bytes` are unread or the file ends; false when there are no more to come than before.
  bool read_until(std::size_t bytes);
  // Goes past bytes that are unread.
  void pass(std::size_t bytes) { begin_ += bytes; }

 private:
  void make_room(std::size_t bytes);
  std::size_t read_some();

  const char* who_;
  Packing packing_;
  std::unique_ptr<SourceFile> file_;
  std::unique_ptr<SourceBytes> bytes_;
  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace cohort::datasets
