#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cohort/distribute/cluster/simple_cluster_resolver.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

// TF_CONFIG while it lives, and no file.
class Environment : public test::EnvironmentVariables {
 public:
  explicit Environment(const std::string& text, const std::string& file = {})
      : EnvironmentVariables({{"TF_CONFIG", text}, {"TF_CONFIG_FILE", file}}) {}
};

const char* kCluster = R"("cluster": {"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": ["h:4"]})";

std::string config(const std::string& rest) { return "{" + std::string(kCluster) + rest + "}"; }

TEST(SimpleClusterResolver, SaysWhatItWasTold) {
  const ClusterSpec spec({{"worker", {"h:1", "h:2"}}, {"ps", {"h:3"}}});
  const SimpleClusterResolver resolver(spec, {.task_type = "worker", .task_id = 1, .environment = "cloud"});
  EXPECT_EQ(resolver.cluster_spec(), spec);
  EXPECT_EQ(resolver.task_type(), "worker");
  EXPECT_EQ(resolver.task_id(), 1);
  EXPECT_EQ(resolver.environment(), "cloud");
  EXPECT_EQ(resolver.rpc_layer(), "grpc");
  EXPECT_EQ(resolver.master(), "grpc://h:2");
  EXPECT_EQ(resolver.master("ps", 0), "grpc://h:3");
  EXPECT_THAT(error_of([&] { resolver.master("ps", 1); }), HasSubstr("NotFound"));

  EXPECT_EQ(SimpleClusterResolver(spec).master(), "");
  EXPECT_EQ(SimpleClusterResolver(spec, {.master = "grpc://m:1"}).master(), "grpc://m:1");
  EXPECT_EQ(SimpleClusterResolver(ClusterSpec({{"worker", {"h:1"}}}), {.task_type = "worker"}).master(), "");
}

TEST(SimpleClusterResolver, RefusesATaskThatIsNotThere) {
  EXPECT_THAT(error_of([] {
                SimpleClusterResolver(ClusterSpec({{"ps", {"h:1"}}}), {.task_type = "ps", .task_id = 1});
              }),
              HasSubstr("InvalidArgument SimpleClusterResolver: the task must be one of the cluster"));
}

TEST(TFConfigClusterResolver, ReadsTheEnvironment) {
  const Environment environment(
      config(R"(, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpcs", "environment": "cloud")"));
  const TFConfigClusterResolver resolver;
  EXPECT_EQ(resolver.cluster_spec(), ClusterSpec({{"chief", {"h:1"}}, {"worker", {"h:2", "h:3"}}, {"ps", {"h:4"}}}));
  EXPECT_EQ(resolver.task_type(), "worker");
  EXPECT_EQ(resolver.task_id(), 1);
  EXPECT_EQ(resolver.rpc_layer(), "grpcs");
  EXPECT_EQ(resolver.environment(), "cloud");
  EXPECT_EQ(resolver.master(), "grpcs://h:3");
  EXPECT_EQ(resolver.master("ps", 0), "grpcs://h:4");
}

TEST(TFConfigClusterResolver, OptionsWinEvenWhenZero) {
  const Environment environment(config(R"(, "task": {"type": "worker", "index": 1})"));
  EXPECT_EQ(TFConfigClusterResolver({.task_id = 0}).task_id(), 0);
  EXPECT_EQ(TFConfigClusterResolver({.task_type = "ps", .task_id = 0}).master(), "grpc://h:4");
  EXPECT_EQ(TFConfigClusterResolver({.rpc_layer = "x"}).rpc_layer(), "x");
  EXPECT_THAT(error_of([] { TFConfigClusterResolver({.task_id = 2}).cluster_spec(); }), HasSubstr("task=worker:2"));
}

TEST(TFConfigClusterResolver, SeesTheEnvironmentAsItIsNow) {
  const TFConfigClusterResolver resolver;
  {
    const Environment environment(config(R"(, "task": {"type": "ps", "index": 0})"));
    EXPECT_EQ(resolver.task_type(), "ps");
  }
  const Environment environment("");
  EXPECT_TRUE(resolver.cluster_spec().empty());
  EXPECT_EQ(resolver.task_type(), "");
  EXPECT_EQ(resolver.task_id(), 0);
  EXPECT_EQ(resolver.master(), "");
}

TEST(TFConfigClusterResolver, TakesAnIndexOfDigitsOrNoneWhereThereIsOne) {
  {
    const Environment environment(config(R"(, "task": {"type": "worker", "index": "1"})"));
    EXPECT_EQ(TFConfigClusterResolver().task_id(), 1);
  }
  {
    const Environment environment(config(R"(, "task": {"type": "chief"})"));
    EXPECT_EQ(TFConfigClusterResolver().task_id(), 0);
  }
  const Environment environment(config(R"(, "task": {"type": "worker"})"));
  EXPECT_THAT(error_of([] { TFConfigClusterResolver().task_id(); }),
              AllOf(HasSubstr("TF_CONFIG: \"task\" must say which"), HasSubstr("Add \"index\"")));
}

TEST(TFConfigClusterResolver, TheEvaluatorNeedNotBeInTheCluster) {
  const Environment environment(config(R"(, "task": {"type": "evaluator", "index": 0})"));
  EXPECT_EQ(TFConfigClusterResolver().task_type(), "evaluator");
}

TEST(TFConfigClusterResolver, SaysWhatIsWrong) {
  const auto problem = [](const std::string& text) {
    const Environment environment(text);
    return error_of([] { TFConfigClusterResolver().task_type(); });
  };
  EXPECT_THAT(problem("{\"cluster\": "),
              AllOf(HasSubstr("InvalidArgument TF_CONFIG: must be JSON; parse error at line 1"),
                    HasSubstr("Received: text={\"cluster\": ."), HasSubstr("Write it as")));
  EXPECT_THAT(problem("[1]"), HasSubstr("InvalidArgument TF_CONFIG: must be a JSON object. Received: text=[1]."));
  EXPECT_THAT(problem(R"({"cluster": ["h:1"]})"), HasSubstr("TF_CONFIG: \"cluster\" must be an object"));
  EXPECT_THAT(problem(R"({"cluster": {"ps": "h:1"}})"), HasSubstr("TF_CONFIG: the job 'ps' must be a list"));
  EXPECT_THAT(problem(R"({"cluster": {"ps": [1]}})"),
              HasSubstr("TF_CONFIG: addresses of the job 'ps' must be strings"));
  EXPECT_THAT(problem(R"({"cluster": {"ps": {"x": "h:1"}}})"), HasSubstr("indices of the job 'ps'"));
  EXPECT_THAT(problem(R"({"cluster": {"ps": ["h"]}})"), HasSubstr("TF_CONFIG: ClusterSpec 'ps:0': an address must be"));
  EXPECT_THAT(problem(R"({"cluster": {"ps": ["h:1", "h:1"]}})"), HasSubstr("TF_CONFIG: ClusterSpec: every task"));
  EXPECT_THAT(problem(config(R"(, "task": 3)")), HasSubstr("TF_CONFIG: \"task\" must be an object"));
  EXPECT_THAT(problem(config(R"(, "task": {"type": 3})")), HasSubstr("TF_CONFIG: \"type\" must be a string"));
  for (const char* index : {"-1", "1.5", "\"one\"", "\"-1\"", "\"\"", "[0]", "18446744073709551615"}) {
    EXPECT_THAT(problem(config(R"(, "task": {"type": "worker", "index": )" + std::string(index) + "}")),
                AllOf(HasSubstr("TF_CONFIG: \"index\" of \"task\" must be a whole number"),
                      HasSubstr("index=" + std::string(index))));
  }
  EXPECT_THAT(
      problem(config(R"(, "task": {"type": "worker", "index": 2})")),
      AllOf(HasSubstr("InvalidArgument TF_CONFIG: the task must be one of the cluster"), HasSubstr("task=worker:2")));
  EXPECT_THAT(problem(config(R"(, "task": {"type": "boss", "index": 0})")), HasSubstr("task=boss:0"));
}

TEST(TFConfigClusterResolver, ReadsAFileWhereTheVariableSaysNothing) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("tf_config.json");
  std::ofstream(path) << config(R"(, "task": {"type": "chief", "index": 0})");
  {
    const Environment environment("", path);
    EXPECT_EQ(TFConfigClusterResolver().cluster_spec().num_tasks(), 4);
    EXPECT_EQ(TFConfigClusterResolver().task_type(), "chief");
  }
  {
    // A file that all tasks share, and a variable that tells them apart.
    const Environment environment(R"({"task": {"type": "worker", "index": 1}})", path);
    EXPECT_EQ(TFConfigClusterResolver().master(), "grpc://h:3");
    EXPECT_EQ(TFConfigClusterResolver({.task_type = "ps", .task_id = 0}).master(), "grpc://h:4");
  }
  {
    const Environment environment(R"({"cluster": {"ps": ["other:1"]}})", path);
    EXPECT_THAT(error_of([] { TFConfigClusterResolver().task_type(); }), HasSubstr("task=chief:0"));
    EXPECT_EQ(TFConfigClusterResolver({.path = path}).cluster_spec().num_tasks(), 4);
  }
  std::ofstream(path) << R"({"cluster": {"ps": ["h:9"]}})";
  const Environment environment("", path);
  EXPECT_EQ(TFConfigClusterResolver().cluster_spec(), ClusterSpec({{"ps", {"h:9"}}}));
}

TEST(TFConfigClusterResolver, NamesTheFileThatIsWrong) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("tf_config.json");
  {
    const Environment environment("", path);
    EXPECT_THAT(error_of([] { TFConfigClusterResolver().task_type(); }),
                AllOf(HasSubstr("NotFound TF_CONFIG_FILE '" + path + "': "), HasSubstr("No such file")));
  }
  std::ofstream(path) << "{\"cluster\": {\"ps\": [\"h\"]}}";
  const Environment environment("");
  EXPECT_THAT(error_of([&] { TFConfigClusterResolver({.path = path}).task_type(); }),
              HasSubstr("InvalidArgument TFConfigClusterResolver '" + path + "': ClusterSpec 'ps:0': an address must"));
}

TEST(TFConfig, ComesBackAsItWasWritten) {
  const ClusterSpec dense({{"chief", {"h:1"}}, {"worker", {"[::1]:2", "h:3"}}});
  const TFConfig read = parse_tf_config(to_tf_config(dense, "worker", 1));
  EXPECT_EQ(read.cluster, dense);
  EXPECT_EQ(read.task_type, "worker");
  EXPECT_EQ(read.task_id, 1);

  const ClusterSpec sparse(std::map<std::string, ClusterSpec::Tasks>{{"worker", {{1, "h:1"}, {10, "h:2"}}}});
  EXPECT_EQ(parse_tf_config(to_tf_config(sparse, "worker", 10)).cluster, sparse);
  EXPECT_EQ(parse_cluster_spec(sparse.as_text(), "who"), sparse);
  EXPECT_EQ(parse_cluster_spec(dense.as_text(), "who"), dense);
  EXPECT_THAT(error_of([] { parse_cluster_spec("{", "--cluster"); }), HasSubstr("--cluster: must be JSON"));
}

TEST(TFConfig, SessionMasterWins) {
  const Environment environment(config(R"(, "task": {"type": "chief", "index": 0}, "session_master": "grpc://m:1")"));
  EXPECT_EQ(TFConfigClusterResolver().master(), "grpc://m:1");
  EXPECT_EQ(TFConfigClusterResolver().master("chief", 0), "grpc://h:1");
}

}  // namespace
}  // namespace cohort::distribute
