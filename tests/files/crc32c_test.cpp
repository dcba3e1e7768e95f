#include "cohort/files/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace cohort {
namespace {

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
}

TEST(Crc32c, TheInstructionAndTheTableAgreeWhateverLengthAndAlignment) {
  std::mt19937 random(7);
  std::string bytes(30000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (const std::size_t length : {0, 1, 7, 8, 63, 383, 384, 385, 1000, 6143, 6144, 6145, 12289, 29000}) {
    for (const std::size_t start : {0, 1, 5, 64}) {
      EXPECT_EQ(crc32c_extend(17, bytes.data() + start, length),
                crc32c_extend_portable(17, bytes.data() + start, length))
          << length << " bytes from " << start;
      std::string copy(length + 1, 'x');
      EXPECT_EQ(crc32c_copy(17, copy.data(), bytes.data() + start, length),
                crc32c_extend_portable(17, bytes.data() + start, length));
      EXPECT_EQ(copy, bytes.substr(start, length) + "x");
    }
  }
}

TEST(Crc32c, MayBeTakenPieceByPiece) {
  const std::string bytes(20000, 'x');
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 777) {
    sum = crc32c_extend(sum, bytes.data() + at, std::min<std::size_t>(777, bytes.size() - at));
  }
  EXPECT_EQ(sum, crc32c(bytes));
}

}  // namespace
}  // namespace cohort
