#include "cohort/core/thread_scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "cohort/core/device_spec.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/masks.h"
#include "cohort/graph/trace.h"
#include "cohort/model/layer/remat_scope.h"
#include "cohort/variables/autocast.h"
#include "tests/support/allocations.h"

namespace cohort {
namespace {

using Number = ThreadScope<struct NumberTag, int>;
using OtherNumber = ThreadScope<struct OtherNumberTag, int>;
using Text = ThreadScope<struct TextTag, std::string>;

TEST(ThreadScope, TheInnermostValueHoldsUntilItsScopeEnds) {
  EXPECT_EQ(Number::innermost(), nullptr);
  EXPECT_EQ(Number::current(), 0);
  {
    const Number outer(1);
    EXPECT_EQ(Number::current(), 1);
    EXPECT_EQ(outer.outer(), nullptr);
    {
      const Number inner(2);
      EXPECT_EQ(Number::current(), 2);
      EXPECT_EQ(Number::innermost(), &inner);
      EXPECT_EQ(inner.outer(), &outer);
    }
    EXPECT_EQ(Number::current(), 1);
  }
  EXPECT_EQ(Number::innermost(), nullptr);
}

TEST(ThreadScope, KindsDoNotSeeOneAnother) {
  const Number number(1);
  EXPECT_EQ(OtherNumber::innermost(), nullptr);
  const OtherNumber other(2);
  EXPECT_EQ(Number::current(), 1);
  EXPECT_EQ(OtherNumber::current(), 2);
}

TEST(ThreadScope, EndsInAnyOrderAndOnce) {
  Number first(1);
  auto second = std::make_unique<Number>(2);
  const Number third(3);
  first.end();
  EXPECT_EQ(Number::current(), 3);
  EXPECT_EQ(third.outer(), second.get());
  second.reset();
  EXPECT_EQ(Number::current(), 3);
  EXPECT_EQ(third.outer(), nullptr);
  first.end();
  EXPECT_EQ(Number::current(), 3);
}

TEST(ThreadScope, EndsAfterAnError) {
  try {
    const Text scope("text");
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(Text::innermost(), nullptr);
}

TEST(ThreadScope, BelongsToItsThread) {
  const Text scope("here");
  std::string seen = "nothing";
  std::thread([&] {
    seen = Text::current();
    const Text there("there");
  }).join();
  EXPECT_EQ(seen, "");
  EXPECT_EQ(Text::current(), "here");
}

TEST(ThreadScope, AllocatesNothing) {
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 3; ++i) {
    const Number scope(i);
    EXPECT_EQ(Number::current(), i);
  }
  EXPECT_EQ(test::allocations() - before, 0u);
}

TEST(FreshThread, IsOutsideOfEveryScopeAndPutsThemBack) {
  const Number number(1);
  const Text text("text");
  {
    const FreshThread fresh;
    EXPECT_EQ(Number::innermost(), nullptr);
    EXPECT_EQ(Text::innermost(), nullptr);
    {
      const Number own(7);
      EXPECT_EQ(Number::current(), 7);
      EXPECT_EQ(own.outer(), nullptr);
    }
    EXPECT_EQ(Number::innermost(), nullptr);
  }
  EXPECT_EQ(Number::innermost(), &number);
  EXPECT_EQ(Text::current(), "text");
}

// Calls of another task must not see the surroundings of a caller in the same process.
TEST(FreshThread, LeavesTheScopesOfAllRooms) {
  const Tensor masked = Tensor::scalar(1.0);
  const DeviceScope device(DeviceSpec::from_string("/job:ps"));
  const MaskScope masks;
  set_mask(masked, Tensor::scalar(true));
  const NameScope name("outer");
  const AutocastScope autocast(DType::BFloat16);
  const RematScope remat;
  const TracedGraph traced = trace({{DType::Float32, {}}}, [&](const Tensors& given) -> Tensors {
    {
      const FreshThread fresh;
      EXPECT_TRUE(current_device_spec().empty());
      EXPECT_FALSE(mask_of(masked).defined());
      EXPECT_EQ(NameScope::current(), "");
      EXPECT_FALSE(current_autocast().has_value());
      EXPECT_EQ(RematScope::current(), nullptr);
      EXPECT_EQ(top_dispatcher(), nullptr);
      EXPECT_EQ(current_trace(), 0u);
      const NameScope own("own");
      EXPECT_EQ(NameScope::current(), "own");
      const MaskScope inner;
      set_mask(given[0], masked);
      EXPECT_TRUE(mask_of(given[0]).defined());
      EXPECT_FALSE(mask_of(masked).defined());
    }
    EXPECT_FALSE(mask_of(given[0]).defined());
    EXPECT_EQ(NameScope::current(), "outer");
    EXPECT_NE(current_trace(), 0u);
    return given;
  });
  EXPECT_TRUE(mask_of(masked).defined());
  EXPECT_EQ(current_device_spec().job, "ps");
  EXPECT_EQ(current_autocast(), DType::BFloat16);
}

}  // namespace
}  // namespace cohort
