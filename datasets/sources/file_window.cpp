#include "cohort/datasets/sources/file_window.h"

#include <algorithm>
#include <cstring>

#include "cohort/data/broken_source.h"

namespace cohort::datasets {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

}  // namespace

FileWindow::FileWindow(const char* who, Packing packing) : who_(who), packing_(packing) {}

FileWindow::~FileWindow() = default;

void FileWindow::open(const InputFile& file, std::uint64_t offset) try {
  close();
  file_ = std::make_unique<SourceFile>(who_, file);
  bytes_ = bytes_of(who_, *file_, packing_);
  if (bytes_->pass(offset) < offset) {
    throw Error(ErrorCode::DataLoss, who_, "a file as long as it was is expected",
                {{"file", file.path}, {"offset", offset}}, "Fetch or write the file again.");
  }
} catch (const Error& error) {
  close();
  throw BrokenSource(error);
}

void FileWindow::close() {
  bytes_.reset();
  file_.reset();
  begin_ = end_ = 0;
}

bool FileWindow::read_until(std::size_t bytes) {
  const std::size_t before = end_ - begin_;
  make_room(std::max(bytes, before + kReadBytes));
  while (end_ - begin_ < bytes) {
    try {
      const std::size_t got = read_some();
      if (got == 0) break;
      end_ += got;
    } catch (const BrokenSource&) {
      if (end_ - begin_ == before) throw;
      break;  // what is before the damage comes first; asked for more, it throws again
    }
  }
  return end_ - begin_ > before;
}

void FileWindow::make_room(std::size_t bytes) {
  if (capacity_ - begin_ >= bytes) return;
  const std::size_t kept = end_ - begin_;
  if (capacity_ >= bytes) {
    std::memmove(memory_.get(), memory_.get() + begin_, kept);
  } else {
    capacity_ = std::max(bytes, 2 * kReadBytes);
    std::unique_ptr<char[]> larger(new char[capacity_]);  // not filled with zeros
    if (kept > 0) std::memcpy(larger.get(), memory_.get() + begin_, kept);
    memory_ = std::move(larger);
  }
  begin_ = 0;
  end_ = kept;
}

// Not all of the room at once: what is in the cache is parsed before more is read.
std::size_t FileWindow::read_some() try {
  return bytes_->read(memory_.get() + end_, std::min(capacity_ - end_, kReadBytes));
} catch (const Error& error) {
  throw BrokenSource(error);
}

}  // namespace cohort::datasets
