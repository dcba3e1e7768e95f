#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/programs/saved_model.h"
#include "tests/programs/started_command.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::StartedCommand;
using testing::HasSubstr;
using testing::Not;

class SummaryCommand : public testing::Test {
 protected:
  std::string summary(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"summary"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartedCommand command(arguments, folder_.path());
    EXPECT_EQ(command.wait(), 0) << command.errors();
    return command.output();
  }
  std::string error(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"summary"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartedCommand command(arguments, folder_.path());
    EXPECT_EQ(command.wait(), 1);
    EXPECT_EQ(command.output(), "");
    return command.errors();
  }

  test::TemporaryFolder folder_;
};

TEST_F(SummaryCommand, PrintsTheTableOfASavedModel) {
  Sequential model({layers::Dense(2)});
  test::train_a_little(model);
  model.save(folder_.file("model.keras"));
  EXPECT_EQ(summary({"model.keras", "--line-length", "70"}), model.summary_text({.line_length = 70}));
  EXPECT_THAT(summary({"model.keras"}), HasSubstr("Optimizer params: 18"));
  EXPECT_EQ(summary({"model.keras", "--line-length", "70", "--show-trainable"}),
            model.summary_text({.line_length = 70, .show_trainable = true}));
}

TEST_F(SummaryCommand, ShowsModelsInsideAModel) {
  const auto inner = make<Sequential>({layers::Dense(4, {.name = "hidden"})}, {.name = "inside"});
  const SymbolicTensor input = Input({3});
  Model(input, layers::Dense(1)(inner(input))).save(folder_.file("model.keras"));
  EXPECT_THAT(summary({"model.keras"}), Not(HasSubstr("hidden")));
  EXPECT_THAT(summary({"model.keras", "--expand-nested"}), HasSubstr("hidden"));
}

TEST_F(SummaryCommand, ListsAFileOfWeights) {
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 3});
  model.save_weights(folder_.file("model.weights.h5"));
  EXPECT_EQ(summary({"model.weights.h5"}),
            "layers/dense/vars/0  (3, 2)  float32\n"
            "layers/dense/vars/1  (2,)    float32\n"
            "Total: 2 tensors, 8 values (32.00 B)\n");
}

TEST_F(SummaryCommand, OrdersNumberedWeightsByNumber) {
  std::vector<std::pair<std::string, Tensor>> datasets;
  for (int i = 0; i < 11; ++i) datasets.emplace_back("vars/" + std::to_string(i), test::ramp({1}));
  test::write_datasets(folder_.file("many.weights.h5"), datasets);
  const std::string listing = summary({"many.weights.h5"});
  EXPECT_LT(listing.find("vars/2 "), listing.find("vars/10 "));
}

TEST_F(SummaryCommand, SaysWhatIsWrong) {
  EXPECT_THAT(error({"nowhere.keras"}), HasSubstr("file 'nowhere.keras': a file that can be read is expected"));
  EXPECT_THAT(error({"nowhere.weights.h5"}), HasSubstr("a file that can be read is expected"));
  EXPECT_THAT(error({"model"}),
              HasSubstr("cohort summary: the path must end in .h5, .hdf5, .keras or .weights.h5. Received: path="));
}

}  // namespace
}  // namespace cohort
