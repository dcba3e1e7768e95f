#include "cohort/model/fit/position.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

TEST(Position, SurvivesBytes) {
  Position position{.epoch = 3, .step = 400, .fit = 2, .epoch_ended = true};
  position.data = std::string("a\0b", 3);
  position.random = {.seed = ~std::uint64_t{0}, .epoch = 3, .step = 399, .first_sample = 5};
  const Position read = parse_position(serialize(position));
  EXPECT_EQ(read.epoch, 3);
  EXPECT_EQ(read.step, 400);
  EXPECT_EQ(read.data, position.data);
  EXPECT_EQ(read.random.seed, position.random.seed);
  EXPECT_EQ(read.random.epoch, 3u);
  EXPECT_EQ(read.random.step, 399u);
  EXPECT_EQ(read.random.first_sample, 5u);
  EXPECT_EQ(read.fit, 2u);
  EXPECT_TRUE(read.epoch_ended);
}

TEST(Position, RefusesOtherBytes) {
  const std::string bytes = serialize({.epoch = 1, .step = 2, .data = "data"});
  const auto error = [](const std::string& given) { return test::error_of([&] { parse_position(given); }); };
  EXPECT_EQ(error(bytes), "");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(error(bytes.substr(0, size)).starts_with("DataLoss Position: ")) << size;
  }
  EXPECT_TRUE(error(bytes + "x").starts_with("DataLoss Position: "));
  EXPECT_TRUE(error("something else entirely").starts_with("DataLoss Position: "));
  EXPECT_TRUE(error(serialize({.epoch = -1})).starts_with("DataLoss Position: "));
}

}  // namespace
}  // namespace cohort
