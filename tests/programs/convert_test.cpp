#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/saving/keras_archive.h"
#include "tests/programs/saved_model.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::ramp;
using test::StartedCommand;
using testing::HasSubstr;

class ConvertCommand : public testing::Test {
 protected:
  int convert(const std::vector<std::string>& files) {
    std::vector<std::string> arguments = {"convert"};
    arguments.insert(arguments.end(), files.begin(), files.end());
    StartedCommand command(arguments, folder_.path());
    const std::optional<int> code = command.wait();
    errors_ = command.errors();
    return code.value_or(-1);
  }

  test::TemporaryFolder folder_;
  std::string errors_;
};

TEST_F(ConvertCommand, TakesTheWeightsAndTheOptimizersStateOutOfAnArchive) {
  Sequential model({layers::Dense(2)});
  test::train_a_little(model);
  model.save(folder_.file("model.keras"));
  ASSERT_EQ(convert({"model.keras", "model.weights.h5"}), 0) << errors_;
  model.save_weights(folder_.file("expected.weights.h5"));
  EXPECT_EQ(test::content_of(folder_.path() / "model.weights.h5"),
            test::content_of(folder_.path() / "expected.weights.h5"));
}

TEST_F(ConvertCommand, LeavesOutTheTrainingWhenAsked) {
  Sequential model({layers::Dense(2)});
  test::train_a_little(model);
  model.save(folder_.file("model.keras"));
  ASSERT_EQ(convert({"model.keras", "model.weights.h5", "--no-compile"}), 0) << errors_;
  const Hdf5File weights = Hdf5File::open(folder_.file("model.weights.h5"));
  EXPECT_TRUE(weights.exists("layers/dense/vars/0"));
  EXPECT_FALSE(weights.exists("optimizer"));
}

TEST_F(ConvertCommand, RefusesPairsThatMakeNoSense) {
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 3});
  model.save(folder_.file("model.keras"));
  model.save_weights(folder_.file("model.weights.h5"));
  const auto expect_refused = [this](const std::vector<std::string>& files, const std::string& message) {
    EXPECT_EQ(convert(files), 1);
    EXPECT_THAT(errors_, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / files[1])) << files[1];
  };
  expect_refused({"model.keras", "other.keras"}, "the two files must be of different formats");
  model.save(folder_.file("model.h5"));
  expect_refused({"model.h5", "other.hdf5"}, "the two files must be of different formats");
  expect_refused({"model.weights.h5", "other.keras"}, "weights alone do not say which layers they are of");
  expect_refused({"model.weights.h5", "other.h5"}, "weights alone do not say which layers they are of");
  expect_refused({"model.keras", "other.txt"},
                 "cohort convert: the path must end in .h5, .hdf5, .keras or .weights.h5");
  expect_refused({"nowhere.keras", "other.weights.h5"}, "file 'nowhere.keras': a file that can be read is expected");
}

}  // namespace
}  // namespace cohort
