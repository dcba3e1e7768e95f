#include "cohort/files/record.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/files/crc32c.h"

namespace cohort::summary {
namespace {

TEST(Record, SumsAreCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
}

TEST(Record, ReadsBackWhatItWrites) {
  std::string file;
  append_record(file, "first");
  append_record(file, "");
  append_record(file, std::string(3000, 'x'));
  std::size_t position = 0;
  std::string_view bytes;
  ASSERT_TRUE(next_record(file, position, bytes));
  EXPECT_EQ(bytes, "first");
  ASSERT_TRUE(next_record(file, position, bytes));
  EXPECT_EQ(bytes, "");
  ASSERT_TRUE(next_record(file, position, bytes));
  EXPECT_EQ(bytes.size(), 3000u);
  EXPECT_FALSE(next_record(file, position, bytes));
}

TEST(Record, EndsAtACutOffRecordAndRefusesAChangedOne) {
  std::string file;
  append_record(file, "first");
  append_record(file, "second");
  std::string_view bytes;
  for (std::size_t size = 21; size < file.size(); ++size) {
    std::size_t position = 0;
    const std::string_view cut = std::string_view(file).substr(0, size);
    ASSERT_TRUE(next_record(cut, position, bytes));
    EXPECT_FALSE(next_record(cut, position, bytes));
  }
  for (std::size_t i = 0; i < 21; ++i) {
    std::string changed = file;
    changed[i] ^= 0x10;
    std::size_t position = 0;
    EXPECT_THROW(next_record(changed, position, bytes), Error) << i;
  }
}

}  // namespace
}  // namespace cohort::summary
