#include "cohort/core/text.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "cohort/layers/core/dense.h"

namespace cohort {
namespace {

TEST(Text, JoinPutsASeparatorBetweenTheParts) {
  EXPECT_EQ(join(std::vector<std::string>{}), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join(std::vector<std::string>{"", "b", ""}), ", b, ");
  EXPECT_EQ(join(std::vector<const char*>{"a", "b"}, {}, "/"), "a/b");
  EXPECT_EQ(join(std::vector<int>{1, -2}), "1, -2");
}

TEST(Text, JoinTakesAFunctionOrAMember) {
  const std::map<std::string, int> numbers = {{"one", 1}, {"two", 2}};
  EXPECT_EQ(join(numbers, &std::pair<const std::string, int>::first), "one, two");
  EXPECT_EQ(join(numbers, &std::pair<const std::string, int>::second), "1, 2");
  EXPECT_EQ(join(numbers, [](const auto& each) { return in_quotes(each.first); }), "'one', 'two'");
}

TEST(Text, NamesAndPaths) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(titled("Metric", "auc"), "Metric 'auc'");
  EXPECT_EQ(path_join("model", "dense"), "model/dense");
  EXPECT_EQ(path_join("", "dense"), "dense");
  EXPECT_EQ(layers::Dense(2, {.name = "last"})->title(), "Dense 'last'");
}

}  // namespace
}  // namespace cohort
