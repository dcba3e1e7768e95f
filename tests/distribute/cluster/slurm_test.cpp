#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/slurm_cluster_resolver.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using Variables = std::map<std::string, std::optional<std::string>>;

// Only these variables of Slurm, none of the one that these tests may run in.
Variables alone(Variables given) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("SLURM")) given.emplace(text.substr(0, text.find('=')), std::nullopt);
  }
  given.emplace("CUDA_VISIBLE_DEVICES", std::nullopt);
  return given;
}

// What Slurm 22.05 of Debian 12 told a task, as `srun env` printed it.
Variables captured(const std::string& name) {
  std::ifstream file(test::source_dir() / "tests/distribute/cluster/slurm" / name);
  Variables variables;
  for (std::string line; std::getline(file, line);)
    variables[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  EXPECT_GT(variables.size(), 20u) << name;
  return alone(variables);
}

// A task of a step on several nodes.
Variables step(int rank, const std::string& nodes, const std::string& tasks, Variables more = {}) {
  more.merge(Variables{{"SLURM_PROCID", std::to_string(rank)},
                       {"SLURM_STEP_NODELIST", nodes},
                       {"SLURM_STEP_TASKS_PER_NODE", tasks},
                       {"SLURM_JOB_NODELIST", "not-this[1-9]"},
                       {"SLURM_TASKS_PER_NODE", "1(x9)"}});
  return alone(more);
}

TEST(SlurmClusterResolver, ReadsWhatSlurmSays) {
  {
    const test::EnvironmentVariables variables(captured("srun_2_tasks.env"));
    const SlurmClusterResolver resolver;
    EXPECT_EQ(resolver.cluster_spec(), ClusterSpec({{"worker", {"vm:8888", "vm:8889"}}}));
    EXPECT_EQ(resolver.task_type(), "worker");
    EXPECT_EQ(resolver.task_id(), 1);
    EXPECT_EQ(resolver.master(), "grpc://vm:8889");
    EXPECT_EQ(std::getenv("CUDA_VISIBLE_DEVICES"), nullptr);
  }
  {
    const test::EnvironmentVariables variables(captured("srun_5_tasks.env"));
    const SlurmClusterResolver resolver({.jobs = {{"worker", 2}, {"chief", 1}, {"ps", 2}}, .port_base = 4000});
    EXPECT_EQ(
        resolver.cluster_spec(),
        ClusterSpec({{"chief", {"vm:4000"}}, {"ps", {"vm:4001", "vm:4002"}}, {"worker", {"vm:4003", "vm:4004"}}}));
    EXPECT_EQ(resolver.task_type(), "worker");
    EXPECT_EQ(resolver.task_id(), 0);
  }
  {
    // A step of one task in a job of two, and the job itself.
    const test::EnvironmentVariables variables(captured("srun_in_sbatch.env"));
    EXPECT_EQ(SlurmClusterResolver().cluster_spec(), ClusterSpec({{"worker", {"vm:8888"}}}));
  }
  const test::EnvironmentVariables variables(captured("sbatch.env"));
  EXPECT_EQ(SlurmClusterResolver().cluster_spec().num_tasks(), 2);
}

TEST(SlurmClusterResolver, ReadsWhatSlurmSaysOfSeveralNodes) {
  const auto found = [](const std::string& name) {
    const test::EnvironmentVariables variables(captured(name));
    const SlurmClusterResolver resolver;
    return resolver.cluster_spec().as_text() + " " + std::to_string(resolver.task_id());
  };
  EXPECT_EQ(found("srun_3_nodes.env"), R"({"worker":["n08:8888","n08:8889","n09:8888","n09:8889","n10:8888"]} 4)");
  EXPECT_EQ(found("srun_3_nodes_cyclic.env"),
            R"({"worker":["n08:8888","n09:8888","n10:8888","n08:8889","n09:8889"]} 3)");
  EXPECT_EQ(found("srun_2_nodes_plane.env"), R"({"worker":["n08:8888","n08:8889","n09:8888","n08:8890"]} 3)");
}

TEST(SlurmClusterResolver, GoesNodeByNode) {
  const test::EnvironmentVariables variables(
      step(3, "n[09-10],m", "2(x2),1", {{"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "1"}}));
  const SlurmClusterResolver resolver({.jobs = {{"chief", 1}, {"ps", 1}, {"worker", 3}}});
  EXPECT_EQ(
      resolver.cluster_spec(),
      ClusterSpec({{"chief", {"n09:8888"}}, {"ps", {"n09:8889"}}, {"worker", {"n10:8888", "n10:8889", "m:8888"}}}));
  EXPECT_EQ(resolver.task_type(), "worker");
  EXPECT_EQ(resolver.task_id(), 1);
}

TEST(SlurmClusterResolver, KnowsOtherOrders) {
  {
    const test::EnvironmentVariables variables(step(
        4, "n[1-3]", "3,1,2", {{"SLURM_DISTRIBUTION", "cyclic:block"}, {"SLURM_NODEID", "2"}, {"SLURM_LOCALID", "1"}}));
    EXPECT_EQ(SlurmClusterResolver().cluster_spec(),
              ClusterSpec({{"worker", {"n1:8888", "n2:8888", "n3:8888", "n1:8889", "n3:8889", "n1:8890"}}}));
  }
  {
    const test::EnvironmentVariables variables(
        step(0, "n[1-2]", "3,3", {{"SLURM_DISTRIBUTION", "plane"}, {"SLURM_DIST_PLANESIZE", "2"}}));
    EXPECT_EQ(SlurmClusterResolver().cluster_spec(),
              ClusterSpec({{"worker", {"n1:8888", "n1:8889", "n2:8888", "n2:8889", "n1:8890", "n2:8890"}}}));
  }
  const test::EnvironmentVariables variables(step(0, "n[1-2]", "1(x2)", {{"SLURM_DISTRIBUTION", "arbitrary"}}));
  EXPECT_THAT(error_of([] { SlurmClusterResolver(); }),
              HasSubstr("Unimplemented SlurmClusterResolver: tasks that are"));
}

TEST(SlurmClusterResolver, SharesTheGpusOfANode) {
  const auto visible = [](Variables variables, SlurmClusterResolverOptions options = {}) {
    const test::EnvironmentVariables environment(variables);
    const SlurmClusterResolver resolver(std::move(options));
    const char* devices = std::getenv("CUDA_VISIBLE_DEVICES");
    return std::string(devices ? devices : "none");
  };
  const Variables second = step(3, "n[1-2]", "2(x2)", {{"SLURM_GPUS_ON_NODE", "4"}});
  EXPECT_EQ(visible(second), "2,3");
  EXPECT_EQ(visible(second, {.gpus_per_task = 1}), "1");
  EXPECT_EQ(visible(second, {.gpus_per_node = 8}), "4,5,6,7");
  EXPECT_EQ(visible(second, {.gpus_per_node = 1}), "none");
  EXPECT_EQ(visible(second, {.auto_set_gpu = false}), "none");
  EXPECT_EQ(visible(step(3, "n[1-2]", "2(x2)")), "none");
  const auto given = [&](const std::string& devices) {
    return visible(step(3, "n[1-2]", "2(x2)", {{"SLURM_GPUS_ON_NODE", "4"}, {"CUDA_VISIBLE_DEVICES", devices}}));
  };
  EXPECT_EQ(given("4,5,6,7"), "6,7");
  EXPECT_EQ(given("0,1"), "0,1");
  EXPECT_THAT(error_of([&] { visible(second, {.gpus_per_task = 3}); }),
              AllOf(HasSubstr("InvalidArgument SlurmClusterResolver: a node must have GPUs for all its tasks"),
                    HasSubstr("gpus_per_node=4, gpus_per_task=3, tasks on a node=2")));
}

TEST(SlurmClusterResolver, SaysWhatDoesNotFit) {
  const auto problem = [](Variables variables, SlurmClusterResolverOptions options = {}) {
    const test::EnvironmentVariables environment(variables);
    return error_of([&] { SlurmClusterResolver resolver(options); });
  };
  EXPECT_THAT(problem(alone({{"SLURM_PROCID", std::nullopt}, {"SLURM_STEP_NODELIST", std::nullopt}})),
              AllOf(HasSubstr("FailedPrecondition SlurmClusterResolver"), HasSubstr("SLURM_PROCID=(not set)"),
                    HasSubstr("srun")));
  const Variables two = step(1, "n[1-2]", "1(x2)");
  for (const std::map<std::string, std::int64_t>& jobs :
       {std::map<std::string, std::int64_t>{{"worker", 3}}, {{"ps", 1}}, {{"ps", -1}, {"worker", 3}}})
    EXPECT_THAT(problem(two, {.jobs = jobs}), AllOf(HasSubstr("the jobs must have as many tasks as Slurm has started"),
                                                    HasSubstr("tasks of Slurm=2")));
  EXPECT_THAT(problem(two, {.jobs = {{"ps", 1}, {"worker", 3}}}), HasSubstr("jobs={ps: 1, worker: 3}"));
  EXPECT_EQ(problem(two, {.jobs = {{"worker", 4}}, .tasks_per_node = 2}), "");
  EXPECT_THAT(problem(step(2, "n[1-2]", "1(x2)")), HasSubstr("a rank below the number of tasks"));
  EXPECT_THAT(problem(step(1, "n[1-2]", "1")), HasSubstr("hosts=2, numbers=1"));
  EXPECT_THAT(problem(step(1, "n[1-2", "1")), HasSubstr("SlurmClusterResolver 'SLURM_STEP_NODELIST': a list of hosts"));
  EXPECT_THAT(problem(step(1, "n[1-2]", "?")), HasSubstr("SlurmClusterResolver 'SLURM_STEP_TASKS_PER_NODE': numbers"));
  EXPECT_THAT(problem(step(1, "n[1-2]", "2(x2)", {{"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "0"}})),
              AllOf(HasSubstr("FailedPrecondition"), HasSubstr("SLURM_PROCID=1, SLURM_NODEID=1")));
  EXPECT_THAT(problem(step(1, "n", "2"), {.port_base = 65535}), HasSubstr("Choose a lower port_base"));
  EXPECT_THAT(problem(two, {.port_base = 0}), HasSubstr("a port_base from 1 to 65535"));
  EXPECT_THAT(problem(step(1, "n[1-2]", "1(x2)", {{"SLURM_GPUS_ON_NODE", "many"}})),
              HasSubstr("SLURM_GPUS_ON_NODE=many"));
}

}  // namespace
}  // namespace cohort::distribute
