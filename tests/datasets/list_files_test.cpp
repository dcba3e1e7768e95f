#include "cohort/datasets/sources/list_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cohort/datasets/transforms/interleave.h"
#include "tests/datasets/elements.h"
#include "tests/support/paths.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ListFiles : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }
  std::vector<std::string> names(const Dataset& data) const {
    std::vector<std::string> result;
    for (const Element& element : data) {
      result.push_back(std::filesystem::path(element.leaf().to_strings().at(0)).filename());
    }
    return result;
  }
  void SetUp() override {
    std::filesystem::create_directories(folder_.path() / "folder.txt");
    for (const char* name : {"b.txt", "a10.txt", "a2.txt", "B.txt", "c.csv"}) {
      std::ofstream(at(name), std::ios::binary) << name << "\nend\n";
    }
  }

  cohort::test::TemporaryFolder folder_;
};

TEST_F(ListFiles, SortsByBytesAndLeavesFoldersOut) {
  EXPECT_THAT(names(list_files(at("*.txt"))), ElementsAre("B.txt", "a10.txt", "a2.txt", "b.txt"));
  EXPECT_THAT(names(list_files({at("c.*"), at("a?.txt"), at("[ab]*.txt")})),
              ElementsAre("a10.txt", "a2.txt", "b.txt", "c.csv"));
  EXPECT_EQ(to_string(list_files(at("*")).element_spec()), "string()");
  EXPECT_EQ(list_files(at("*.txt")).cardinality(), 4);
}

TEST_F(ListFiles, RefusesPatternsThatMatchNothing) {
  EXPECT_THAT([&] { list_files(at("*.png")); }, ThrowsMessage<Error>(HasSubstr("*.png")));
  EXPECT_THROW(list_files({at("*.txt"), at("*.png")}), Error);
  EXPECT_THROW(list_files(at("folder*")), Error);
  EXPECT_THROW(list_files(std::vector<std::string>{}), Error);
}

TEST_F(ListFiles, ShufflesBySeed) {
  const auto order = [&](std::int64_t seed) { return names(list_files(at("*.txt"), {.shuffle = true, .seed = seed})); };
  EXPECT_EQ(order(3), order(3));
  EXPECT_THAT(order(3), testing::UnorderedElementsAre("B.txt", "a10.txt", "a2.txt", "b.txt"));
  bool any_other = false;
  for (std::int64_t seed = 0; seed < 20; ++seed) any_other |= order(seed) != names(list_files(at("*.txt")));
  EXPECT_TRUE(any_other);
}

TEST_F(ListFiles, RegisteredReadersTravel) {
  const Dataset data =
      list_files(at("*.txt"))
          .apply(interleave(DatasetFunction::registered("text_lines"), {.cycle_length = 2, .num_parallel_calls = 2}));
  const Dataset travelled = parse_dataset(serialize(data));
  EXPECT_THAT(names(travelled), ElementsAre("B.txt", "a10.txt", "end", "end", "a2.txt", "b.txt", "end", "end"));
  EXPECT_EQ(names(data), names(travelled));
}

}  // namespace
}  // namespace cohort::datasets::test
