#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cohort {

// A PNG file of rows of 8-bit pixels with 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) channels.
std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width,
                       std::int64_t channels);

}  // namespace cohort
