// Servers of this process read where their options let them, from the moment they are made; the process itself reads
// everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

class ServerDataRoots : public testing::Test {
 protected:
  ServerDataRoots() { std::ofstream(path_) << "1,0\n3,0\n"; }

  static double mean_of(const Dataset& data) {
    Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
    model.compile({.loss = "mean_absolute_error"});
    return model.evaluate(data, {.verbose = 0}).at("loss");
  }
  // The mean of the file's numbers, which a worker reads.
  double mean_on_server(const std::optional<std::vector<std::string>>& roots) const {
    const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
    const Server ps(spec, {.job_name = "ps"}), worker(spec, {.job_name = "worker", .data_roots = roots});
    ParameterServerStrategy strategy{SimpleClusterResolver(spec)};
    auto scope = strategy.scope();
    return mean_of(file_);
  }

  const cohort::test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("numbers");
  const cohort::test::Deadline deadline_{60s};
  Dataset file_;
  void SetUp() override {
    const datasets::CsvTensor x{.columns = {0}}, y{.columns = {1}};
    file_ = datasets::csv(path_, {.tensors = {x, y}, .header = false})
                .map([](const Tensor& a, const Tensor& b) {
                  return std::tuple(ops::reshape(a, {1}), ops::reshape(b, {1}));
                })
                .batch(2);
  }
};

TEST_F(ServerDataRoots, AreTheWorkingFolderUnlessGiven) {
  EXPECT_THAT(error_of([&] { mean_on_server(std::nullopt); }),
              AllOf(HasSubstr(path_), HasSubstr("ServerOptions::data_roots")));
  EXPECT_EQ(mean_of(file_), 2.0);
}

TEST_F(ServerDataRoots, HoldForWhatAChiefSendsAlone) {
  EXPECT_EQ(mean_on_server({{folder_.path().string()}}), 2.0);
  EXPECT_EQ(mean_on_server({{"/"}}), 2.0);
  EXPECT_THAT(error_of([&] { mean_on_server(std::vector<std::string>{}); }), HasSubstr("data_root=none"));
  EXPECT_EQ(mean_of(file_), 2.0);
}

TEST_F(ServerDataRoots, OfALocalClusterAreThoseOfItsProcess) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  EXPECT_EQ(mean_of(file_), 2.0);
}

}  // namespace
}  // namespace cohort::distribute
