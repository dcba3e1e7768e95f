#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/programs/saved_model.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::ramp;
using test::StartedCommand;
using test::write_datasets;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PredictCommand : public testing::Test {
 protected:
  // Its exit code; what it said is in `errors_`.
  int predict(const std::string& model, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"predict", "--model", model, "--inputs", "in.h5", "--outputs", "out.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartedCommand command(arguments, folder_.path());
    const std::optional<int> code = command.wait();
    errors_ = command.errors();
    EXPECT_EQ(command.output(), "");
    return code.value_or(-1);
  }
  Hdf5File outputs() const { return Hdf5File::open(folder_.file("out.h5")); }
  void expect_refused(const std::string& model, const std::string& message) {
    EXPECT_EQ(predict(model), 1);
    EXPECT_THAT(errors_, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.h5"));
  }

  test::TemporaryFolder folder_;
  std::string errors_;
};

TEST_F(PredictCommand, WritesWhatTheModelPredicts) {
  Sequential model({layers::Dense(5, {.activation = "relu"}), layers::Dense(2)});
  model.build({kUnknown, 3});
  model.save(folder_.file("model.keras"));
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({7, 3})}});
  for (const char* batch_size : {"1", "3", "32"}) {
    ASSERT_EQ(predict("model.keras", {"--batch-size", batch_size}), 0) << errors_;
    EXPECT_THAT(outputs().members(""), ElementsAre("output_0"));
    EXPECT_EQ(outputs().read("output_0").to_vector<float>(), model.predict(ramp({7, 3})).to_vector<float>());
  }
}

TEST_F(PredictCommand, TakesAndGivesSeveralInTheModelsOrder) {
  Model model = test::two_sided_model();
  model.save(folder_.file("model.keras"));
  write_datasets(folder_.file("in.h5"), {{"input_1", ramp({6, 2})}, {"input_0", ramp({6, 3})}});
  ASSERT_EQ(predict("model.keras"), 0) << errors_;
  const Element expected = model.predict_element(DataArgument(Tensors{ramp({6, 3}), ramp({6, 2})}, {}));
  EXPECT_THAT(outputs().members(""), ElementsAre("output_0", "output_1"));
  EXPECT_EQ(outputs().read("output_0").to_vector<float>(), expected[0].leaf().to_vector<float>());
  EXPECT_EQ(outputs().read("output_1").to_vector<float>(), expected[1].leaf().to_vector<float>());
}

TEST_F(PredictCommand, NumbersTheMembersOfADictByTheirKeys) {
  const SymbolicTensor one = Input({3}, {.name = "one"}), two = Input({2}, {.name = "two"});
  const SymbolicTensor both = layers::Concatenate()({one, two});
  Model model(Symbols({{"z", one}, {"a", two}}),
              Symbols({{"y", layers::Dense(4)(both)}, {"b", layers::Dense(1)(both)}}));
  model.save(folder_.file("model.keras"));
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({5, 2})}, {"input_1", ramp({5, 3})}});
  ASSERT_EQ(predict("model.keras"), 0) << errors_;
  EXPECT_EQ(outputs().spec("output_0").shape, Shape({5, 1}));
  EXPECT_EQ(outputs().spec("output_1").shape, Shape({5, 4}));
}

TEST_F(PredictCommand, ConvertsTypesAndALastAxisOfOne) {
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 1});
  model.save(folder_.file("model.keras"));
  const std::vector<float> expected =
      model.predict(Tensor::of(std::vector<float>{1, 2, 3}, {3, 1}, cpu())).to_vector<float>();
  for (const Tensor& input :
       {Tensor::of(std::vector<double>{1, 2, 3}, {3, 1}, cpu()), Tensor::of(std::vector<float>{1, 2, 3}, {3}, cpu()),
        Tensor::of(std::vector<float>{1, 2, 3}, {3, 1, 1}, cpu())}) {
    write_datasets(folder_.file("in.h5"), {{"input_0", input}});
    ASSERT_EQ(predict("model.keras"), 0) << errors_;
    EXPECT_EQ(outputs().read("output_0").to_vector<float>(), expected);
  }
  write_datasets(folder_.file("in.h5"), {{"input_0", Tensor::of(std::vector<std::int64_t>{1, 2, 3}, {3, 1}, cpu())}});
  ASSERT_EQ(predict("model.keras"), 0) << errors_;
  EXPECT_EQ(outputs().read("output_0").to_vector<float>(), expected);
}

TEST_F(PredictCommand, SaysWhatIsWrongWithTheInputs) {
  test::two_sided_model().save(folder_.file("model.keras"));
  expect_refused("model.keras", "Hdf5File: an HDF5 file that can be read is expected. Received: file=in.h5");
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 3})}});
  expect_refused("model.keras", "missing=input_1. The model has 2 inputs: call their datasets input_0 to input_1.");
  write_datasets(folder_.file("in.h5"),
                 {{"input_0", ramp({6, 3})}, {"input_1", ramp({6, 2})}, {"input_2", ramp({6, 2})}});
  expect_refused("model.keras", "dataset=input_2");
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 3})}, {"input_1", ramp({6, 3})}});
  expect_refused("model.keras",
                 "cohort predict: input 'right' must have shape (None, 2). Received: dataset=input_1, shape=(6, 3)");
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 3})}, {"input_1", ramp({5, 2})}});
  expect_refused("model.keras", "every input must have the same number of samples. Received: input_0=6, input_1=5");
}

TEST_F(PredictCommand, SaysWhatIsWrongWithTheModel) {
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 3})}});
  expect_refused("nowhere.keras", "file 'nowhere.keras': a file that can be read is expected");
  expect_refused("model.txt", "cohort predict: the path must end in .h5, .hdf5, .keras or .weights.h5");
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 3});
  model.save_weights(folder_.file("model.weights.h5"));
  expect_refused("model.weights.h5", "--model must be a file with a whole model");
}

TEST_F(PredictCommand, LeavesAnOldFileAloneWhenItFails) {
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 3});
  model.save(folder_.file("model.keras"));
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 3})}});
  ASSERT_EQ(predict("model.keras"), 0) << errors_;
  const std::string before = test::content_of(folder_.path() / "out.h5");
  write_datasets(folder_.file("in.h5"), {{"input_0", ramp({6, 4})}});
  EXPECT_EQ(predict("model.keras"), 1);
  EXPECT_EQ(test::content_of(folder_.path() / "out.h5"), before);
}

}  // namespace
}  // namespace cohort
