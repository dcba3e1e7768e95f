// What datasets of a chief may read on `cohort server`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "cohort/cohort.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

// The sum of the numbers in a file, read by a worker.
double sum_on(const distribute::ParameterServerStrategy& strategy, const Dataset& lines) {
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
  model.compile({.loss = "mean_absolute_error"});
  const Dataset data = lines.map([](const Tensor& x) { return std::tuple(x, 0.0 * x); }).batch(2);
  return 2 * model.evaluate(data, {.verbose = 0}).at("loss");
}

Dataset column_of(const std::string& path) {
  return datasets::csv(path, {.tensors = {{.columns = {0}}}, .header = false}).map([](const Tensor& number) {
    return ops::reshape(number, {1});
  });
}

// The same chain, told that its file lies elsewhere: as one that knows this library and means no good sends it.
Dataset renamed(const Dataset& dataset, const std::string& path) {
  std::vector<Dataset> inputs;
  for (const Dataset& input : dataset.inputs()) inputs.push_back(renamed(input, path));
  Attributes attributes = dataset.attributes();
  if (attributes.has("files")) attributes.set("files", std::vector<std::string>{path});
  return Dataset::make(dataset.kind(), std::move(inputs), std::move(attributes));
}

class ServerData : public testing::Test {
 protected:
  ServerData() {
    fs::create_directories(root_ / "in");
    for (const fs::path& path : {root_ / "in/numbers", folder_.path() / "secret"}) std::ofstream(path) << "1\n3\n";
    fs::create_symlink(folder_.path() / "secret", root_ / "out");
    ::mkfifo((root_ / "pipe").c_str(), 0600);
  }

  const test::TemporaryFolder folder_;
  const fs::path root_ = folder_.path() / "root";
};

TEST_F(ServerData, IsRefusedWithoutARoot) {
  const test::Deadline deadline(60s);
  test::ProcessCluster cluster(1, 1);
  const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  EXPECT_THAT(error_of([&] { sum_on(strategy, column_of((root_ / "in/numbers").string())); }),
              AllOf(HasSubstr("numbers"), HasSubstr("data_root=none"), HasSubstr("--data-root")));
}

TEST_F(ServerData, IsReadBeneathTheRootAlone) {
  const test::Deadline deadline(60s);
  test::ProcessCluster cluster(1, 1, 0, false, {"--data-root", root_.string()});
  const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  const Dataset good = column_of((root_ / "in/numbers").string());
  EXPECT_EQ(sum_on(strategy, good), 4.0);
  EXPECT_EQ(sum_on(strategy, renamed(good, "in/numbers")), 4.0);
  for (const std::string& path : {(folder_.path() / "secret").string(), std::string("../secret"),
                                  (root_ / "../secret").string(), (root_ / "out").string(), std::string("out")}) {
    EXPECT_THAT(error_of([&] { sum_on(strategy, renamed(good, path)); }),
                AllOf(HasSubstr("a file that this process may read data from"), HasSubstr("--data-root")))
        << path;
  }
  EXPECT_THAT(error_of([&] { sum_on(strategy, renamed(good, "pipe")); }), HasSubstr("a regular file is expected"));
  // It serves on.
  EXPECT_EQ(sum_on(strategy, good), 4.0);
}

}  // namespace
}  // namespace cohort
