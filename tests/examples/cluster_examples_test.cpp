#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "tests/support/free_ports.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using test::StartedProgram;
using test::StartedProgramOptions;
using testing::ContainsRegex;
using testing::HasSubstr;

// Tasks with folders of their own, so that each one's output is kept apart.
class ClusterExamples : public testing::Test {
 protected:
  std::unique_ptr<StartedProgram> start(const std::string& program, const StartedProgramOptions& options = {},
                                        const std::string& task = "chief") {
    std::filesystem::create_directory(folder_.path() / task);
    return std::make_unique<StartedProgram>(program, options, folder_.path() / task);
  }

  // Every task as a process: the servers as `serve` starts them, then the chief.
  template <class Serve>
  void train_in_processes(const distribute::ClusterSpec& spec, const Serve& serve, const StartedProgramOptions& leads) {
    std::vector<std::unique_ptr<StartedProgram>> servers;
    for (const std::string job : {"ps", "worker"}) {
      for (const std::int64_t index : spec.task_indices(job)) servers.push_back(serve(job, index));
    }
    const auto chief = start("examples/cluster_custom_loop", leads);
    EXPECT_EQ(chief->wait(60s), 0) << chief->errors();
    expect_trained(chief->output());
    // The chief tells the others that the job has ended.
    for (const auto& server : servers) EXPECT_EQ(server->wait(5s), 0) << server->errors();
  }

  static void expect_trained(const std::string& output) {
    EXPECT_THAT(output, HasSubstr("Finished epoch 3, accuracy is 1.000000."));
    EXPECT_THAT(output, HasSubstr("Final loss is "));
  }

  test::TemporaryFolder folder_;
};

TEST_F(ClusterExamples, FitsOnAClusterInOneProcess) {
  const auto program = start("examples/cluster_in_process");
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  for (int epoch = 1; epoch <= 5; ++epoch) {
    EXPECT_THAT(program->output(), HasSubstr("Epoch " + std::to_string(epoch) + "/5\n"));
  }
  EXPECT_THAT(program->output(), ContainsRegex("20/20 [^\n]* loss: [0-9.]+"));
}

TEST_F(ClusterExamples, TrainOnDevicesInStep) {
  const auto program = start("examples/mirrored", {.arguments = {"--smoke", "CPU:0", "CPU:1", "CPU:2"}});
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  EXPECT_THAT(program->output(), HasSubstr("3 replicas in step\n"));
  EXPECT_THAT(program->output(), ContainsRegex("8/8 [^\n]* val_loss: [0-9.]+"));
}

TEST_F(ClusterExamples, TrainOnDevicesBesideOneThatKeepsVariables) {
  const auto program = start("examples/central_storage", {.arguments = {"--smoke"}});
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  EXPECT_THAT(program->output(), HasSubstr("4 replicas in step, variables on CPU:0\n"));
  EXPECT_THAT(program->output(), ContainsRegex("8/8 [^\n]* val_loss: [0-9.]+"));
}

// The same program alone and on three workers, of which the first one writes the model.
TEST_F(ClusterExamples, TrainOnWorkersInStep) {
  const std::string example = test::program_path("examples/multi_worker_mirrored");
  const StartedProgramOptions alone{.arguments = {"--smoke"}, .environment = {{"TF_CONFIG", ""}}};
  const auto one = start("examples/multi_worker_mirrored", alone, "alone");
  EXPECT_EQ(one->wait(60s), 0) << one->errors();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "alone" / "in_step.keras"));
  const auto three = start("cohort", {.arguments = {"launch", "--workers", "3", "--", example, "--smoke"}});
  EXPECT_EQ(three->wait(60s), 0) << three->errors();
  EXPECT_THAT(three->output(), ContainsRegex("worker:0 \\| .*8/8 [^\n]* val_loss: [0-9.]+"));
  EXPECT_THAT(three->output(), testing::Not(ContainsRegex("worker:1 \\| .*val_loss")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "chief" / "in_step.keras"));
}

// The evaluator is given the time for the last checkpoint, and ends by itself.
TEST_F(ClusterExamples, EvaluateEveryCheckpointBesideTheTraining) {
  const std::string example = test::program_path("examples/evaluator");
  const auto program = start(
      "cohort", {.arguments = {"launch", "--workers", "2", "--ps", "1", "--evaluator", "--", example, "--smoke"}});
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  for (const char* epoch : {"1", "2", "3"}) {
    EXPECT_THAT(program->errors(),
                ContainsRegex("evaluator:0 \\| .*'ckpt-" + std::string(epoch) + ".weights.h5' of step"));
  }
  EXPECT_THAT(program->errors(), HasSubstr("is over, 3 checkpoints were evaluated"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "chief" / "best.keras"));
}

TEST_F(ClusterExamples, RunGraphsInSessions) {
  const auto sharing = start("examples/session", {.arguments = {"--smoke"}});
  EXPECT_EQ(sharing->wait(60s), 0) << sharing->errors();
  EXPECT_THAT(sharing->output(), HasSubstr("total 30 after 10 steps of each\n"));
  const auto pinned = start("examples/device_pinning");
  EXPECT_EQ(pinned->wait(60s), 0) << pinned->errors();
  EXPECT_THAT(pinned->output(), HasSubstr("variable_1: (Variable) /job:ps/replica:0/task:1/device:CPU:0\n"));
  EXPECT_THAT(pinned->output(),
              ContainsRegex("multiply: \\(Multiply\\) /job:worker/replica:0/task:1/device:[CG]PU:0\n"));
  EXPECT_THAT(pinned->output(), HasSubstr("c = 4, p = 18\n"));
}

TEST_F(ClusterExamples, SeeEveryElementOnceOnAnyNumberOfWorkers) {
  const auto program = start("examples/cluster_iterator");
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  EXPECT_THAT(program->output(), HasSubstr("here: 15\n"));
  EXPECT_THAT(program->output(), HasSubstr("on three workers: 15\n"));
}

TEST_F(ClusterExamples, RunACustomLoopInOneProcess) {
  const auto program = start("examples/cluster_custom_loop", {.environment = {{"TF_CONFIG", ""}}});
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  expect_trained(program->output());
}

TEST_F(ClusterExamples, RunACustomLoopThroughCohortLaunch) {
  const std::string example = test::program_path("examples/cluster_custom_loop");
  const auto program = start("cohort", {.arguments = {"launch", "--workers", "3", "--ps", "2", "--", example}});
  EXPECT_EQ(program->wait(60s), 0) << program->errors();
  EXPECT_THAT(program->output(), HasSubstr("chief:0 | Finished epoch 3, accuracy is 1.000000.\n"));
}

TEST_F(ClusterExamples, RunACustomLoopAsProcessesThatTfConfigNames) {
  const auto spec = distribute::local_cluster_spec({{"worker", 3}, {"ps", 2}, {"chief", 1}});
  const auto named = [&](const std::string& job, std::int64_t index) {
    return StartedProgramOptions{.environment = {{"TF_CONFIG", distribute::to_tf_config(spec, job, index)}}};
  };
  const auto serve = [&](const std::string& job, std::int64_t index) {
    return start("examples/cluster_custom_loop", named(job, index), distribute::task_name(job, index));
  };
  train_in_processes(spec, serve, named("chief", 0));
}

TEST_F(ClusterExamples, RunACustomLoopAsProcessesNamedByArguments) {
  const auto spec = distribute::local_cluster_spec({{"worker", 2}, {"ps", 1}, {"chief", 1}});
  const auto named = [&](const std::string& job, std::int64_t index) {
    return StartedProgramOptions{.arguments = {"--task_type", job, "--task_index", std::to_string(index)},
                                 .environment = {{"TF_CONFIG", R"({"cluster": )" + spec.as_text() + "}"}}};
  };
  const auto serve = [&](const std::string& job, std::int64_t index) {
    return start("examples/cluster_custom_loop", named(job, index), distribute::task_name(job, index));
  };
  train_in_processes(spec, serve, named("chief", 0));
}

// As srun would start it on four machines, which are addresses of this one.
TEST_F(ClusterExamples, RunAsTasksOfAScheduler) {
  const int port = distribute::parse_address(test::free_addresses(1).front(), "test").port;
  std::vector<std::unique_ptr<StartedProgram>> tasks;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    tasks.push_back(start("examples/cluster_from_scheduler",
                          {.arguments = {"--resolver", "slurm", "--port", std::to_string(port)},
                           .environment = {{"SLURM_PROCID", number},
                                           {"SLURM_NODEID", number},
                                           {"SLURM_LOCALID", "0"},
                                           {"SLURM_DISTRIBUTION", "block"},
                                           {"SLURM_STEP_NODELIST", "127.0.0.[1-4]"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"}}},
                          "rank_" + number));
  }
  for (const auto& task : tasks) EXPECT_EQ(task->wait(60s), 0) << task->errors();
  EXPECT_THAT(tasks.front()->output(), ContainsRegex("The loss went from [0-9.]+ to [0-9.]+."));
}

TEST_F(ClusterExamples, AreServedByCohortServerWhichKnowsNothingOfThem) {
  const auto spec = distribute::local_cluster_spec({{"worker", 2}, {"ps", 2}, {"chief", 1}});
  const auto serve = [&](const std::string& job, std::int64_t index) {
    return start("cohort",
                 {.arguments = {"server", "--cluster", spec.as_text(), "--job", job, "--task", std::to_string(index)}},
                 distribute::task_name(job, index));
  };
  train_in_processes(spec, serve, {.environment = {{"TF_CONFIG", distribute::to_tf_config(spec, "chief", 0)}}});
}

}  // namespace
}  // namespace cohort
