#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/files/png.h"

namespace cohort::datasets::test {

// Bytes of their hexadecimal digits.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// A JPEG that Pillow wrote, 9 rows of 13 pixels, chroma at half the size.
inline std::string small_jpeg() {
  return from_hex(
      "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e"
      "292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffdb0043010e0e0e131113261515264f352d354f4f4f4f"
      "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc00011080009000d03"
      "012200021101031101ffc40014000100000000000000000000000000000005ffc4001b100001050101000000000000000000000000030405"
      "22323141ffc4001501010100000000000000000000000000000304ffc40017110003010000000000000000000000000000030512ffda000c"
      "03010002110311003f0035ac1f282c8c1d302ad7c164704f4ea3f41c6a0dc9ffd9");
}
// An interlaced GIF that Pillow wrote, 9 rows of 13 pixels in 8 colors.
inline std::string small_gif() {
  return from_hex(
      "4749463837610d000900820000b4c45fb47e7832c4a0327eb9b43891b400a53238d23200e62c000000000d00090000083d000f081c58a0a0"
      "c102030d283448a0210185100d389c18d1c080890d030cd8c83180c78f1a396e04f97180809327030058c912254a96305d9e84c93220003"
      "b");
}

// A PNG of one value.
inline std::string plain_png(std::int64_t height, std::int64_t width, std::uint8_t value, std::int64_t channels = 3) {
  return encode_png(std::vector<std::uint8_t>(static_cast<std::size_t>(height * width * channels), value), height,
                    width, channels);
}

// A BMP of 24 bits, bottom-up, 2 rows of 3 pixels: (10 r, 10 r + 1, 10 r + 2) + 30 y with r = 0, 1, 2.
inline std::string small_bmp() {
  std::string bytes = "BM";
  const auto number = [&](std::uint32_t value, int width) {
    for (int i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  };
  for (const std::uint32_t value : {78u, 0u, 54u, 40u, 3u, 2u}) number(value, 4);
  number(1, 2);
  number(24, 2);
  for (int i = 0; i < 6; ++i) number(0, 4);
  for (std::uint32_t y = 2; y-- > 0;) {
    for (std::uint32_t x = 0; x < 3; ++x) {
      for (std::uint32_t c = 3; c-- > 0;) number(30 * y + 10 * x + c, 1);
    }
    number(0, 3);
  }
  return bytes;
}

}  // namespace cohort::datasets::test
