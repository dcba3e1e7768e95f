#include "cohort/datasets/transforms/autotune.h"

#include <gtest/gtest.h>

#include <optional>

#include "cohort/datasets/transforms/ram_budget.h"

namespace cohort::datasets::test {
namespace {

// The budget is the process's: put back after each test.
class Autotune : public testing::Test {
 protected:
  ~Autotune() override { set_ram_budget(0); }
};

TEST_F(Autotune, DoublesUpToTheMost) {
  set_ram_budget(1 << 20);
  AutotunedWidth width(2, 7);
  EXPECT_TRUE(width.widen(1));
  EXPECT_EQ(width.now(), 4u);
  EXPECT_TRUE(width.widen(1));
  EXPECT_EQ(width.now(), 7u);
  EXPECT_FALSE(width.widen(1));
  EXPECT_EQ(width.now(), 7u);
}

TEST_F(Autotune, StaysAsItIsWhereThereIsNoChoice) {
  AutotunedWidth width(3, 3);
  EXPECT_FALSE(width.widen(0));
  EXPECT_EQ(width.now(), 3u);
}

TEST_F(Autotune, StagesShareOneBudget) {
  set_ram_budget(1000);
  {
    AutotunedWidth first(4, 64), second(4, 64);
    EXPECT_TRUE(first.widen(200));
    EXPECT_EQ(first.now(), 8u);  // 800 bytes
    EXPECT_TRUE(second.widen(100));
    EXPECT_EQ(second.now(), 6u) << "only 200 bytes were left";
    EXPECT_FALSE(second.widen(100));
  }
  AutotunedWidth third(4, 64);
  EXPECT_TRUE(third.widen(250)) << "those that are gone have given back theirs";
  EXPECT_EQ(third.now(), 8u);
}

TEST_F(Autotune, StagesMadeInAScopeHaveItsBudgetAsLongAsTheyLive) {
  set_ram_budget(1000);
  std::optional<AutotunedWidth> inside, outside;
  {
    const RamBudgetScope scope(std::make_shared<RamBudget>(100));
    inside.emplace(1, 64);
  }
  outside.emplace(1, 64);
  EXPECT_FALSE(inside->widen(200));
  EXPECT_TRUE(inside->widen(100));
  EXPECT_TRUE(outside->widen(1000)) << "what the other took is not the process's";
}

TEST_F(Autotune, WithoutANumberTheBudgetIsAPartOfWhatIsFree) {
  AutotunedWidth width(1, 2);
  EXPECT_FALSE(width.widen(std::uint64_t{1} << 60));
  EXPECT_TRUE(width.widen(1));
}

}  // namespace
}  // namespace cohort::datasets::test
