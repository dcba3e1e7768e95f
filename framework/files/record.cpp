#include "cohort/files/record.h"

#include <bit>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/files/crc32c.h"

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little endian");

template <class T>
void append_number(std::string& file, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  file.append(bytes, sizeof(T));
}

template <class T>
T number_at(std::string_view file, std::size_t position) {
  T value;
  std::memcpy(&value, file.data() + position, sizeof(T));
  return value;
}

constexpr std::size_t kHeaderBytes = 12, kFooterBytes = 4;

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

void append_record(std::string& file, std::string_view bytes) {
  const std::size_t start = file.size();
  append_number(file, static_cast<std::uint64_t>(bytes.size()));
  append_number(file, masked_crc32c(std::string_view(file).substr(start, 8)));
  file.append(bytes);
  append_number(file, masked_crc32c(bytes));
}

bool next_record(std::string_view file, std::size_t& position, std::string_view& bytes) {
  const std::size_t left = file.size() - position;
  if (left < kHeaderBytes) return false;
  const auto length = number_at<std::uint64_t>(file, position);
  if (number_at<std::uint32_t>(file, position + 8) != masked_crc32c(file.substr(position, 8))) {
    throw Error(ErrorCode::DataLoss, "record", "the length of a record must fit its sum", {{"position", position}});
  }
  if (length > left - kHeaderBytes || left - kHeaderBytes - length < kFooterBytes) return false;
  bytes = file.substr(position + kHeaderBytes, length);
  if (number_at<std::uint32_t>(file, position + kHeaderBytes + length) != masked_crc32c(bytes)) {
    throw Error(ErrorCode::DataLoss, "record", "the bytes of a record must fit their sum", {{"position", position}});
  }
  position += kHeaderBytes + length + kFooterBytes;
  return true;
}

}  // namespace cohort
