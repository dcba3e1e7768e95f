#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort {

// CRC-32C of bytes in the form TensorFlow stores it in beside data that may itself hold such sums.
std::uint32_t masked_crc32c(std::string_view bytes);

// Appends one record in TFRecord's framing: length, its sum, the bytes, their sum.
void append_record(std::string& file, std::string_view bytes);

// Takes the record that starts at `position` out of a file's bytes and moves `position` behind it; false at the end or
// at a record that was cut off. Throws DataLoss where a sum does not fit.
bool next_record(std::string_view file, std::size_t& position, std::string_view& bytes);

}  // namespace cohort
