#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/cluster/union_cluster_resolver.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

SimpleClusterResolver sparse(std::map<std::string, ClusterSpec::Tasks> jobs,
                             SimpleClusterResolverOptions options = {}) {
  return SimpleClusterResolver(ClusterSpec(std::move(jobs)), std::move(options));
}

TEST(UnionClusterResolver, JoinsListsOfTasks) {
  const SimpleClusterResolver one(ClusterSpec({{"worker", {"a:1", "a:2"}}, {"ps", {"a:3"}}}),
                                  {.task_type = "ps", .environment = "cloud", .rpc_layer = "grpcs"});
  const SimpleClusterResolver two(ClusterSpec({{"worker", {"b:1"}}, {"chief", {"b:2"}}}),
                                  {.task_type = "worker", .task_id = 0});
  const UnionClusterResolver both(one, two);
  EXPECT_EQ(both.cluster_spec(), ClusterSpec({{"worker", {"a:1", "a:2", "b:1"}}, {"ps", {"a:3"}}, {"chief", {"b:2"}}}));
  EXPECT_EQ(both.task_type(), "ps");
  EXPECT_EQ(both.task_id(), 0);
  EXPECT_EQ(both.environment(), "cloud");
  EXPECT_EQ(both.rpc_layer(), "grpcs");
  EXPECT_EQ(both.master(), "grpcs://a:3");
  EXPECT_EQ(both.master("worker", 2), "grpcs://b:1");
}

TEST(UnionClusterResolver, TheFirstThatKnowsSaysWhichTaskThisIs) {
  const SimpleClusterResolver rest(ClusterSpec({{"worker", {"a:1", "a:2"}}}));
  const SimpleClusterResolver own(ClusterSpec({{"worker", {"b:1", "b:2"}}}), {.task_type = "worker", .task_id = 1});
  const UnionClusterResolver both(rest, own);
  EXPECT_EQ(both.task_type(), "worker");
  // As it is numbered among all of them.
  EXPECT_EQ(both.task_id(), 3);
  EXPECT_EQ(both.master(), "grpc://b:2");
  EXPECT_EQ(UnionClusterResolver(rest, rest).task_type(), "");
}

TEST(UnionClusterResolver, OptionsWinEvenWhenZero) {
  const auto own =
      std::make_shared<SimpleClusterResolver>(ClusterSpec({{"worker", {"a:1", "a:2"}}, {"ps", {"a:3"}}}),
                                              SimpleClusterResolverOptions{.task_type = "worker", .task_id = 1});
  const UnionClusterResolver first({own}, {.task_id = 0});
  EXPECT_EQ(first.task_id(), 0);
  const UnionClusterResolver other({own}, {.task_type = "ps", .task_id = 0, .rpc_layer = "x"});
  EXPECT_EQ(other.master(), "x://a:3");
  EXPECT_THAT(error_of([] { UnionClusterResolver({}, {}); }),
              HasSubstr("InvalidArgument UnionClusterResolver: one resolver or more"));
}

TEST(UnionClusterResolver, NumbersWithHolesStay) {
  const SimpleClusterResolver dense(ClusterSpec({{"worker", {"a:1", "a:2"}}, {"ps", {"a:3"}}}));
  const UnionClusterResolver both(dense, sparse({{"worker", {{5, "b:5"}}}}, {.task_type = "worker", .task_id = 5}),
                                  sparse({{"worker", {{2, "c:2"}, {4, "c:4"}}}}));
  EXPECT_EQ(both.cluster_spec(),
            ClusterSpec(std::map<std::string, ClusterSpec::Tasks>{
                {"worker", {{0, "a:1"}, {1, "a:2"}, {2, "c:2"}, {4, "c:4"}, {5, "b:5"}}}, {"ps", {{0, "a:3"}}}}));
  EXPECT_EQ(both.task_id(), 5);
  EXPECT_EQ(both.master(), "grpc://b:5");
}

TEST(UnionClusterResolver, RefusesATaskOfTwo) {
  const SimpleClusterResolver dense(ClusterSpec({{"worker", {"a:1", "a:2"}}}));
  EXPECT_THAT(error_of([&] {
                UnionClusterResolver(dense, sparse({{"worker", {{1, "b:1"}}}})).cluster_spec();
              }),
              AllOf(HasSubstr("AlreadyExists UnionClusterResolver: a task must be in one of the clusters only"),
                    HasSubstr("task=worker:1, addresses=a:2, b:1")));
  EXPECT_THAT(error_of([&] { UnionClusterResolver(dense, dense).cluster_spec(); }),
              HasSubstr("every task must have an address of its own"));
}

}  // namespace
}  // namespace cohort::distribute
