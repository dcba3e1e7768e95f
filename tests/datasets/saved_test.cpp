#include "cohort/datasets/sources/saved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/data/broken_source.h"
#include "cohort/files/atomic_file.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

class Saved : public testing::Test {
 protected:
  std::string folder() const { return folder_.file("saved"); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  TemporaryFolder folder_;
};

TEST_F(Saved, IsLoadedWithoutASpec) {
  const Dataset dataset = Dataset::zip({{"n", range(10)}, {"batch", range(20).batch(2)}});
  for (const std::int64_t shards : {1, 3, 16}) {
    save(dataset, folder(), {.num_shards = shards});
    const Dataset loaded = load(folder());
    EXPECT_EQ(to_string(loaded.element_spec()), to_string(dataset.element_spec()));
    EXPECT_EQ(loaded.cardinality(), 10);
    EXPECT_EQ(all(loaded, 0), all(dataset, 0)) << shards;
    EXPECT_EQ(all(loaded, 1), all(dataset, 1)) << shards;
    EXPECT_TRUE(loaded.stage().is_indexed());
    EXPECT_EQ(all(loaded.shuffle(10, {.seed = 1}).batch(3)), all(rows(10).shuffle(10, {.seed = 1}).batch(3)));
    EXPECT_EQ(entries(), 1u);
  }
}

TEST_F(Saved, RowsOfFixedShapesAreInMemory) {
  save(range(10), folder());
  EXPECT_NE(load(folder()).stage().indexed()->columns(), nullptr);
  save(range(0), folder());
  EXPECT_THAT(numbers(load(folder())), ElementsAre());
}

TEST_F(Saved, AnElementThatFailsLeavesWhatWasThere) {
  save(range(3), folder());
  EXPECT_THROW(save(damaged_source(7, 3), folder()), Error);
  EXPECT_THAT(numbers(load(folder())), ElementsAre(0, 1, 2));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Saved, AStageWithoutFilesIsRefused) {
  range(3).save(folder_.file("saved"));
  const Dataset loaded = load(folder_.file("saved"));
  Attributes attributes = loaded.attributes();
  for (const char* list : {"file_bytes", "file_numbers"}) {
    if (attributes.has(list)) attributes.set(list, std::vector<std::int64_t>{});
  }
  attributes.set("files", std::vector<std::string>{});
  EXPECT_THAT(error_of([&] { Dataset::make(loaded.kind(), {}, attributes); }), HasSubstr("files.size=0"));
}

TEST_F(Saved, RefusesWhatItCannotDo) {
  EXPECT_THAT(error_of([&] { save(range(3).repeat(), folder()); }), HasSubstr("a dataset that ends"));
  EXPECT_THAT(error_of([&] { save(range(3), folder(), {.num_shards = 0}); }), HasSubstr("num_shards=0"));
  EXPECT_THAT(error_of([&] { load(folder()); }), HasSubstr("NotFound"));
  write_file_atomically(folder() + "/mine", "do not delete");
  EXPECT_THAT(error_of([&] { save(range(3), folder()); }), HasSubstr("Give another folder"));
  EXPECT_THAT(error_of([&] { load(folder()); }), HasSubstr("NotFound"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/mine"));
}

TEST_F(Saved, AFileThatIsGoneOrChangedBreaksTheSource) {
  save(range(3), folder());
  const Dataset travelled = parse_dataset(serialize(load(folder())));
  Tensors element;
  const auto read = [&] { parse_dataset(serialize(travelled)).make_iterator()->next(element); };
  EXPECT_NO_THROW(read());
  save(range(4), folder());
  EXPECT_THROW(read(), BrokenSource);
  save(range(3).batch(1), folder());
  EXPECT_THROW(read(), BrokenSource);
  std::filesystem::remove_all(folder());
  EXPECT_THROW(read(), BrokenSource);
}

Dataset lasting_saved(std::int64_t shards) {
  static const TemporaryFolder folder;
  const std::string path = folder.file(std::to_string(shards));
  if (!std::filesystem::exists(path)) save(range(11), path, {.num_shards = shards});
  return load(path);
}
const PositionsCase kSavedCases[] = {
    {"one_file", [] { return lasting_saved(1); }},
    {"three_files", [] { return lasting_saved(3).shuffle(11, {.seed = 4}).batch(2); }},
};
INSTANTIATE_TEST_SUITE_P(Saved, Positions, testing::ValuesIn(kSavedCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
