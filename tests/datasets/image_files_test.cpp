#include "cohort/datasets/sources/image_files.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "cohort/core/thread_pool.h"
#include "tests/datasets/image_bytes.h"
#include "tests/datasets/record_files.h"
#include "tests/datasets/skipping.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;
using Numbers = std::vector<std::vector<std::int64_t>>;

std::string image_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}
// Images of 1, 2, ..., in several formats and sizes.
std::vector<std::string> some_images(std::size_t count = 7) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint8_t>(i + 1);
    const auto size = static_cast<std::int64_t>(i % 4 + 1);
    files.push_back(image_file("i" + std::to_string(i) + ".png", plain_png(size, 5 - size, value, i % 2 == 0 ? 3 : 1)));
  }
  return files;
}
const ImageFilesOptions kOnePixel{.image_size = {1, 1}, .color_mode = "grayscale"};

TEST(ImageFiles, AreFloatsOfOneSize) {
  const Dataset data = image_files({image_file("a.jpg", small_jpeg()), image_file("b.gif", small_gif())},
                                   {.labels = {4, 2}}, {.image_size = {9, 13}});
  EXPECT_EQ(to_string(data.element_spec()), "(float32(9, 13, 3), int32())");
  EXPECT_EQ(data.cardinality(), 2);
  EXPECT_TRUE(data.stage().is_indexed());
  auto iterator = data.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  const auto pixels = element[0].to_vector<std::int64_t>();
  EXPECT_EQ((std::vector(pixels.end() - 3, pixels.end())), (std::vector<std::int64_t>{237, 223, 75}));
  EXPECT_EQ(all(data, 1), (Numbers{{4}, {2}}));
}

TEST(ImageFiles, AreReadIntoTheRowsOfABatch) {
  const Dataset data = image_files(some_images(), {.labels = {6, 5, 4, 3, 2, 1, 0}}, kOnePixel);
  EXPECT_EQ(all(data), (Numbers{{1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(all(data.batch(3)), (Numbers{{1, 2, 3}, {4, 5, 6}, {7}}));
  EXPECT_EQ(all(data.shard(2, 1).batch(3), 1), (Numbers{{5, 3, 1}}));
  const Numbers expected = all(data.shuffle(7, {.seed = 2}).batch(4));
  const int before = ThreadPool::instance().threads();
  for (const int threads : {1, 2, 8}) {
    ThreadPool::instance().set_threads(threads);
    EXPECT_EQ(all(data.shuffle(7, {.seed = 2}).batch(4)), expected) << threads;
  }
  ThreadPool::instance().set_threads(before);
}

TEST(ImageFiles, LabelsComeInEveryMode) {
  const auto labels = [](const std::string& mode, std::int64_t classes) {
    return image_files(some_images(3), {.labels = {1, 0, 2}, .label_mode = mode, .num_classes = classes}, kOnePixel);
  };
  EXPECT_EQ(to_string(labels("binary", 0).element_spec()), "(float32(1, 1, 1), float32(1,))");
  EXPECT_EQ(all(labels("binary", 0), 1), (Numbers{{1}, {0}, {2}}));
  EXPECT_EQ(to_string(labels("categorical", 2).element_spec()), "(float32(1, 1, 1), float32(2,))");
  EXPECT_EQ(all(labels("categorical", 2), 1), (Numbers{{0, 1}, {1, 0}, {0, 0}}));
  EXPECT_EQ(all(labels("categorical", 2).batch(2), 1), (Numbers{{0, 1, 1, 0}, {0, 0}}));
  EXPECT_THAT(error_of([&] { labels("categorical", 0); }), HasSubstr("num_classes=0"));
  EXPECT_THAT(error_of([&] { labels("sparse", 0); }), HasSubstr("label_mode=sparse"));
  EXPECT_THAT(error_of([&] { labels("none", 0); }), HasSubstr("label_mode must be"));
}

TEST(ImageFiles, ArgumentsAreChecked) {
  const auto error = [](const ImageFilesOptions& options) {
    return error_of([&] { image_files(some_images(1), options); });
  };
  EXPECT_THAT(error({.image_size = {0, 5}}), HasSubstr("height=0"));
  EXPECT_THAT(error({.image_size = {1 << 20, 1 << 20}}), HasSubstr("2^28 pixels"));
  EXPECT_THAT(error({.color_mode = "hsv"}), HasSubstr("color_mode=hsv"));
  EXPECT_THAT(error({.interpolation = "cubic"}), HasSubstr("interpolation=cubic"));
  EXPECT_THAT(error({.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}), HasSubstr("only one of"));
  EXPECT_THAT(error_of([] { image_files(some_images(2), {.labels = {1}}, kOnePixel); }), HasSubstr("labels=1"));
  EXPECT_THAT(error_of([] { image_files({"no/such/file.png"}); }), HasSubstr("NotFound"));
}

TEST(ImageFiles, OneThatCannotBeReadIsAnErrorOfItsElement) {
  std::vector<std::string> files = some_images();
  files[1] = image_file("damaged.jpg", small_jpeg().substr(0, 200));
  files[3] = image_file("changed.png", plain_png(2, 2, 9));
  files[5] = image_file("gone.png", plain_png(2, 2, 9));
  const Dataset data = image_files(files, kOnePixel);
  image_file("changed.png", plain_png(2, 2, 9) + "more");
  std::filesystem::remove(files[5]);
  EXPECT_EQ(rest_with_errors(*data.make_iterator()),
            (Numbers{{1}, {INT64_MIN}, {3}, {INT64_MIN}, {5}, {INT64_MIN}, {7}}));
  expect_passing_by_equals_walking(data);
  expect_passing_by_equals_walking(data.batch(2));
  EXPECT_EQ(all(data.ignore_errors()), (Numbers{{1}, {3}, {5}, {7}}));
  const std::string text = error_of([&] { all(data); });
  EXPECT_THAT(text, HasSubstr("damaged.jpg"));
  EXPECT_THAT(text, HasSubstr("element=1"));
  EXPECT_THAT(text, HasSubstr("it is cut off"));
}

const PositionsCase kImagePositions[] = {
    {"single", [] { return image_files(some_images(), kOnePixel); }},
    {"shuffled_batches", [] { return image_files(some_images(), kOnePixel).shuffle(7, {.seed = 4}).batch(3); }},
};
INSTANTIATE_TEST_SUITE_P(ImageFiles, Positions, testing::ValuesIn(kImagePositions), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
