#include "cohort/datasets/sources/tf_record_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/files/crc32c.h"
#include "cohort/files/record.h"

namespace cohort::datasets {
namespace {

constexpr std::uint64_t kMostOfRecord = std::uint64_t{1} << 30;
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kBlockOfRecords = std::size_t{1} << 20;

template <class T>
T record_number(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

[[noreturn]] void rest_is_lost(const char* who, const char* expected, const std::string& file, std::uint64_t offset) {
  throw Error(ErrorCode::DataLoss, who, expected, {{"file", file}, {"offset", offset}},
              "The rest of the file is lost; write it again, or name its compression.");
}

}  // namespace

void record_cut_off(const char* who, const std::string& file, std::uint64_t offset) {
  rest_is_lost(who, "a record that ends before its file does is expected", file, offset);
}

std::uint64_t length_of_record(const char* who, const char* header, const std::string& file, std::uint64_t offset,
                               std::uint64_t left) {
  const auto length = record_number<std::uint64_t>(header);
  if (masked_crc32c({header, kLengthBytes}) != record_number<std::uint32_t>(header + kLengthBytes)) {
    rest_is_lost(who, "a record whose length fits its sum is expected", file, offset);
  }
  if (length > kMostOfRecord) rest_is_lost(who, "a record of at most 1 GiB is expected", file, offset);
  // Nothing is allocated for what the file cannot hold.
  if (length + kRecordHeader + kRecordFooter > left) record_cut_off(who, file, offset);
  return length;
}

bool fits_footer(std::uint32_t sum, const char* footer) {
  constexpr std::uint32_t kMask = 0xa282ead8u;
  return std::rotr(sum, 15) + kMask == record_number<std::uint32_t>(footer);
}

TFRecordFile::TFRecordFile(const char* who, const InputFile& file, Packing packing, std::uint64_t offset)
    : who_(who), file_(who, file), plain_(packing == Packing::None), bytes_(bytes_of(who, file_, packing)) {
  if (offset > 0 && bytes_->pass(offset) < offset) {
    throw Error(ErrorCode::DataLoss, who, "a position inside the file is expected",
                {{"file", file.path}, {"offset", offset}});
  }
  offset_ = offset;
}

bool TFRecordFile::next(std::string& record, bool& whole) {
  std::uint64_t length = 0;
  if (!read_length(length)) return false;
  const std::size_t all = kRecordHeader + static_cast<std::size_t>(length) + kRecordFooter;
  if (available(all) < all) record_cut_off(who_, file_.path(), offset_);
  const char* bytes = buffer_.get() + begin_ + kRecordHeader;
  record.resize(static_cast<std::size_t>(length));
  whole = fits_footer(crc32c_copy(0, record.data(), bytes, record.size()), bytes + length);
  advance(all);
  return true;
}

bool TFRecordFile::pass() {
  std::uint64_t length = 0;
  if (!read_length(length)) return false;
  const std::uint64_t whole = kRecordHeader + length + kRecordFooter;
  const std::uint64_t held = end_ - begin_;
  if (whole <= held) {
    advance(static_cast<std::size_t>(whole));
    return true;
  }
  begin_ = end_ = 0;
  if (bytes_->pass(whole - held) < whole - held) record_cut_off(who_, file_.path(), offset_);
  offset_ += whole;
  return true;
}

bool TFRecordFile::read_length(std::uint64_t& length) {
  const std::size_t got = available(kRecordHeader);
  if (got == 0) return false;
  if (got < kRecordHeader) record_cut_off(who_, file_.path(), offset_);
  const std::uint64_t left = plain_ ? file_.size() - offset_ : UINT64_MAX;
  length = length_of_record(who_, buffer_.get() + begin_, file_.path(), offset_, left);
  return true;
}

// Lets `wanted` bytes stand in the buffer from begin_ on; how many there are, fewer at the end.
std::size_t TFRecordFile::available(std::size_t wanted) {
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
void TFRecordFile::grow() {
  const std::size_t larger = capacity_ == 0 ? kBlockOfRecords : 2 * capacity_;
  auto memory = std::make_unique_for_overwrite<char[]>(larger);
  if (end_ > 0) std::memcpy(memory.get(), buffer_.get(), end_);
  buffer_ = std::move(memory);
  capacity_ = larger;
}

void TFRecordFile::advance(std::size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

}  // namespace cohort::datasets
