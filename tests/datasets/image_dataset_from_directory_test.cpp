#include "cohort/datasets/utilities/image_dataset_from_directory.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "cohort/datasets/utilities/numpy_random.h"
#include "tests/datasets/image_bytes.h"
#include "tests/datasets/record_files.h"

namespace cohort::utils::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using datasets::test::all;
using datasets::test::plain_png;
using datasets::test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<std::vector<std::int64_t>>;

class ImageDirectory : public testing::Test {
 protected:
  ImageDirectory() {
    add("b/2.png", 3);
    add("b/10.PNG", 2);
    add("a/z.png", 1);
    add("a/inner/y.jpg", 6);  // the bytes tell the format
    add("a/inner-more/x.bmp", 5);
    add("c/1.gif", 4);
    write_file(folder_.file("a/notes.txt"), "no image");
    add(".hidden/1.png", 9);
    options_.verbose = false;
    options_.image_size = {1, 1};
    options_.color_mode = "grayscale";
    options_.batch_size = 0;
    options_.shuffle = false;
  }
  void add(const std::string& name, std::uint8_t value) {
    const std::filesystem::path path = folder_.file(name);
    std::filesystem::create_directories(path.parent_path());
    write_file(path.string(), plain_png(2, 2, value));
  }
  DirectoryDataset make() const { return image_dataset_from_directory(folder_.path().string(), options_); }
  std::string error() const {
    return error_of([&] { make(); });
  }
  TemporaryFolder folder_;
  ImageDatasetOptions options_;
};

TEST_F(ImageDirectory, FoldersAreClassesSortedByBytes) {
  const DirectoryDataset data = make();
  EXPECT_THAT(data.class_names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(all(data), (Numbers{{1}, {6}, {5}, {2}, {3}, {4}}));
  EXPECT_EQ(all(data, 1), (Numbers{{0}, {0}, {0}, {1}, {1}, {2}}));
  EXPECT_EQ(to_string(data.dataset.element_spec()), "(float32(1, 1, 1), int32())");
  options_.batch_size = 4;
  EXPECT_EQ(all(make()), (Numbers{{1, 6, 5, 2}, {3, 4}}));
  options_.batch_size = -1;
  EXPECT_THAT(error(), HasSubstr("batch_size=-1"));
}

TEST_F(ImageDirectory, ClassesCanBeChosenAndOrdered) {
  options_.class_names = {"c", "a"};
  EXPECT_EQ(all(make(), 1), (Numbers{{0}, {1}, {1}, {1}}));
  options_.label_mode = "binary";
  EXPECT_EQ(to_string(make().dataset.element_spec()), "(float32(1, 1, 1), float32(1,))");
  options_.label_mode = "categorical";
  EXPECT_EQ(all(make(), 1), (Numbers{{1, 0}, {0, 1}, {0, 1}, {0, 1}}));
}

TEST_F(ImageDirectory, LabelsCanBeGivenOrLeftOut) {
  // In the order of paths, those of hidden folders included.
  options_.labels = std::vector<std::int32_t>{5, 5, 7, 7, 9, 5, 7};
  const DirectoryDataset given = make();
  EXPECT_THAT(given.class_names, ElementsAre("5", "7", "9"));
  EXPECT_EQ(all(given).front(), (std::vector<std::int64_t>{9}));
  EXPECT_EQ(all(given, 1), (Numbers{{5}, {5}, {7}, {7}, {9}, {5}, {7}}));
  options_.labels = std::nullopt;
  EXPECT_EQ(to_string(make().dataset.element_spec()), "float32(1, 1, 1)");
  options_.labels = "inferred";
  options_.label_mode = std::nullopt;
  EXPECT_EQ(to_string(make().dataset.element_spec()), "float32(1, 1, 1)");
  EXPECT_TRUE(make().class_names.empty());
}

TEST_F(ImageDirectory, TheSplitIsNumPysShuffle) {
  std::vector<std::int64_t> expected{1, 6, 5, 2, 3, 4};
  NumpyRandomState(11).shuffle(std::span(expected));
  options_.shuffle = true;
  options_.seed = 11;
  options_.validation_split = 0.4;
  options_.subset = "both";
  testing::internal::CaptureStdout();
  const DirectoryDataset both = make();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "Using 4 files for training.\nUsing 2 files for validation.\n");
  // Validation keeps the order of the files.
  EXPECT_EQ(all(both.validation), (Numbers{{expected[4]}, {expected[5]}}));
  const auto iterator = both.dataset.make_iterator();
  std::set<Numbers> orders;
  for (int epoch = 0; epoch < 8; ++epoch, iterator->rewind()) {
    Numbers images, kept(4);
    for (Tensors element; iterator->next(element);) {
      images.push_back(element[0].to_vector<std::int64_t>());
      const std::int64_t value = images.back()[0];
      // Labels go with their files.
      EXPECT_EQ(element[1].item<std::int32_t>(), value == 4 ? 2 : value == 2 || value == 3 ? 1 : 0) << value;
    }
    orders.insert(images);
    std::sort(images.begin(), images.end());
    for (std::size_t i = 0; i < 4; ++i) kept[i] = {expected[i]};
    std::sort(kept.begin(), kept.end());
    EXPECT_EQ(images, kept);
  }
  EXPECT_GT(orders.size(), 2u);
}

}  // namespace
}  // namespace cohort::utils::test
