#include "cohort/data/element.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

const TensorSpec kImage{DType::UInt8, {28, 28}}, kLabel{DType::Int32, {}};

TEST(Element, PrintsAsPeopleReadIt) {
  EXPECT_EQ(to_string(ElementSpec(kImage)), "uint8(28, 28)");
  EXPECT_EQ(to_string(ElementSpec()), "()");
  EXPECT_EQ(to_string(ElementSpec::tuple({kImage})), "(uint8(28, 28),)");
  EXPECT_EQ(to_string(ElementSpec::tuple({ElementSpec::dict({{"a", kImage}, {"b", kLabel}}), kLabel})),
            "({a: uint8(28, 28), b: int32()}, int32())");
}

TEST(Element, StructureSurvivesAsText) {
  const ElementSpec trees[] = {
      ElementSpec(), kImage, ElementSpec::tuple({kImage, kLabel}),
      ElementSpec::dict({{"a}(1:*", kImage}, {"", ElementSpec::tuple({kLabel, ElementSpec()})}})};
  for (const ElementSpec& tree : trees) {
    const ElementSpec parsed = parse_structure(structure_of(tree), tree.flatten());
    EXPECT_TRUE(parsed.same_structure(tree)) << structure_of(tree);
    EXPECT_EQ(parsed.flatten(), tree.flatten());
  }
}

TEST(Element, RefusesMalformedStructures) {
  for (const char* text : {"", "(", "(*", "*)", "**", "x", "{*}", "{1*}", "{9:a*}", "{-1:a*}", "{1:a}", "(*)extra"}) {
    EXPECT_THROW(parse_structure(text, {kImage}), Error) << text;
  }
  EXPECT_THROW(parse_structure("(*)", {kImage, kLabel}), Error);
  EXPECT_THROW(parse_structure(std::string(100000, '('), {}), Error);
}

TEST(Element, WithLeavesKeepsKindAndKeys) {
  const ElementSpec tree = ElementSpec::dict({{"x", kImage}, {"y", kLabel}});
  const Tree<int> numbers = tree.with_leaves(std::vector<int>{1, 2});
  EXPECT_EQ(numbers.find("y")->leaf(), 2);
  EXPECT_EQ(numbers.find("z"), nullptr);
  EXPECT_TRUE(numbers.same_structure(tree));
}

}  // namespace
}  // namespace cohort
