// Workers that train in step, each a process that runs the same program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <limits>
#include <thread>

#include "cohort/cohort.h"
#include "tests/support/free_ports.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/paths.h"
#include "tests/support/patience.h"
#include "tests/support/started_program.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using InStepClock = std::chrono::steady_clock;
using testing::HasSubstr;

constexpr const char* kTask = "COHORT_TEST_TASK_IN_STEP";
// How processes communicate that share GPU:0; not set: they compute on the CPU.
constexpr const char* kOnGpu = "COHORT_TEST_IN_STEP_ON_GPU";
using Environment = std::vector<std::pair<std::string, std::string>>;

const InStepJob& job_named(const std::vector<InStepJob>& jobs, const std::string& name) {
  for (const InStepJob& job : jobs) {
    if (job.name == name) return job;
  }
  throw std::runtime_error("no job " + name);
}

void write_result(const TrainedInStep& result) {
  std::ofstream file("result");
  file << std::setprecision(std::numeric_limits<double>::max_digits10);
  for (const auto& weight : result.weights) {
    file << "weight " << weight.size();
    for (const float value : weight) file << " " << value;
    file << "\n";
  }
  for (const auto& [name, values] : result.history) {
    file << name << " " << values.size();
    for (const double value : values) file << " " << value;
    file << "\n";
  }
}

TrainedInStep read_result(const std::filesystem::path& folder) {
  TrainedInStep result;
  std::ifstream file(folder / "result");
  std::string name;
  std::size_t count = 0;
  while (file >> name >> count) {
    std::vector<double> values(count);
    for (double& value : values) file >> value;
    if (name == "weight") {
      result.weights.emplace_back(values.begin(), values.end());
    } else {
      result.history[name] = values;
    }
  }
  return result;
}

// Does something at a batch, counted over all epochs.
class AtBatch : public Callback {
 public:
  AtBatch(std::int64_t batch, std::function<void(Model&)> act) : batch_(batch), act_(std::move(act)) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    if (++seen_ == batch_) act_(model());
  }

 private:
  const std::int64_t batch_;
  std::int64_t seen_ = 0;
  const std::function<void(Model&)> act_;
};

// A training that ends only by what happens to it.
void train_for_ever(std::vector<Ref<Callback>> callbacks) {
  Sequential model({layers::Dense(64, {.activation = "relu"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 3});
  const Dataset data = datasets::from_tensor_slices(waves({64, 16}), waves({64, 1}, 11)).batch(8).repeat();
  model.fit(data, {.epochs = 1'000'000, .verbose = 0, .steps_per_epoch = 50, .callbacks = std::move(callbacks)});
}

std::string what_ended(const std::function<void()>& code) {
  try {
    code();
  } catch (const std::exception& exception) {
    return exception.what();
  }
  return "no error";
}

// What the processes run: "<what> <arguments>" in the environment.
TEST(TaskInStep, DISABLED_Runs) {
  std::istringstream task(std::getenv(kTask));
  std::string what, name;
  task >> what;
  const distribute::TFConfigClusterResolver resolver;
  const bool first = resolver.task_id() == 0;
  const std::string error = what_ended([&] {
    if (what == "seedless") set_random_seed(100 + static_cast<std::uint64_t>(resolver.task_id()));
    distribute::CommunicationOptions options{.dead_after = 2.0};
    if (const char* implementation = std::getenv(kOnGpu)) {
      options.implementation = implementation;
      options.devices = {"GPU:0"};
    }
    const distribute::MultiWorkerMirroredStrategy strategy(resolver, options);
    auto scope = strategy.scope();
    std::vector<Ref<Callback>> callbacks;
    if (what == "train") {
      task >> name;
      const std::vector<InStepJob> jobs = in_step_jobs();
      write_result(train_in_step(job_named(jobs, name), "adam"));
    } else if (what == "seedless") {
      Sequential model({layers::Dense(3)});
      model.compile({.optimizer = "sgd", .loss = "mse"});
      model.fit(waves({8, 4}), waves({8, 3}), {.batch_size = 4, .epochs = 1, .verbose = 0});
      write_result({values_of(model), {}});
    } else if (what == "differ") {
      Sequential model({layers::Dense(first ? 3 : 4), layers::Dense(1)});
      model.compile({.optimizer = "sgd", .loss = "mse"});
      model.fit(waves({8, 4}), waves({8, 1}), {.batch_size = 4, .epochs = 1, .verbose = 0});
    } else if (what == "backup") {
      task >> name;
      const std::vector<InStepJob> jobs = in_step_jobs();
      const std::int64_t kill_at = first ? -1 : std::atoi(std::getenv("COHORT_TEST_KILL_AT"));
      callbacks = {callbacks::BackupAndRestore(name, {.save_freq = std::int64_t{2}}),
                   make<AtBatch>(kill_at, [](Model&) { raise(SIGKILL); })};
      write_result(train_in_step(jobs[0], "adam", false, callbacks));
    } else {
      if (what == "stop" && !first) {
        callbacks = {make<AtBatch>(7, [](Model& model) { model.stop_training = true; })};
      } else if (what == "throw" && !first) {
        callbacks = {make<AtBatch>(7, [](Model&) { throw std::runtime_error("a callback's own error"); })};
      } else {
        callbacks = {make<AtBatch>(5, [](Model&) { std::ofstream("begun") << "yes"; })};
      }
      train_for_ever(callbacks);
    }
  });
  std::ofstream("ended") << error;
}

// Processes of this test binary that train in step.
class ProcessesInStep {
 public:
  //   more: variables of a process's environment.
  ProcessesInStep(int workers, const std::string& task, const std::string& kill_at = "-1",
                  const std::function<Environment(int worker)>& more = {}) {
    const std::vector<std::string> addresses = free_addresses(static_cast<std::size_t>(workers));
    const std::string cluster = distribute::ClusterSpec({{"worker", addresses}}).as_text();
    for (int i = 0; i < workers; ++i) {
      folders_.push_back(std::make_unique<TemporaryFolder>());
      const std::string config =
          R"({"cluster": )" + cluster + R"(, "task": {"type": "worker", "index": )" + std::to_string(i) + "}}";
      Environment environment{{"TF_CONFIG", config}, {kTask, task}, {"COHORT_TEST_KILL_AT", kill_at}};
      for (const auto& variable : more ? more(i) : Environment()) environment.push_back(variable);
      processes_.push_back(std::make_unique<StartedProgram>(
          "tests/faults_test",
          StartedProgramOptions{.arguments = {"--gtest_filter=TaskInStep.DISABLED_Runs",
                                              "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
                                .environment = environment},
          folders_.back()->path()));
    }
  }

  StartedProgram& process(int worker) { return *processes_[static_cast<std::size_t>(worker)]; }
  std::filesystem::path folder(int worker) const { return folders_[static_cast<std::size_t>(worker)]->path(); }
  // What ended a worker's code; "no error" where nothing did.
  std::string error(int worker) {
    EXPECT_TRUE(process(worker).wait(60s).has_value()) << "worker " << worker << " does not end";
    return content_of(folder(worker) / "ended");
  }
  bool begun(int worker) const { return std::filesystem::exists(folder(worker) / "begun"); }

 private:
  std::vector<std::unique_ptr<TemporaryFolder>> folders_;
  std::vector<std::unique_ptr<StartedProgram>> processes_;
};

class WorkersInStep : public testing::TestWithParam<int> {};

TEST_P(WorkersInStep, TrainAsOneDeviceOnTheWholeBatch) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    ProcessesInStep workers(GetParam(), std::string("train ") + job.name);
    const TrainedInStep alone = train_in_step(job, "adam");
    for (int i = 0; i < GetParam(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      const TrainedInStep trained = read_result(workers.folder(i));
      expect_near(trained, alone, 2e-4);
      EXPECT_EQ(trained.weights, read_result(workers.folder(0)).weights);
      EXPECT_EQ(trained.history, read_result(workers.folder(0)).history);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfAnyNumber, WorkersInStep, testing::Values(2, 3));

TEST(WorkersInStep, BeginWithTheSameWeightsWhateverTheirSeeds) {
  ProcessesInStep workers(2, "seedless");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
  EXPECT_EQ(read_result(workers.folder(0)).weights, read_result(workers.folder(1)).weights);
}

TEST(WorkersInStep, NameTheFirstDifferenceOfTheirPrograms) {
  ProcessesInStep workers(2, "differ");
  EXPECT_THAT(workers.error(1), HasSubstr("every worker must run the same program"));
  EXPECT_THAT(workers.error(1), HasSubstr("dense/kernel"));
  EXPECT_THAT(workers.error(0), HasSubstr("every worker must run the same program"));
}

TEST(WorkersInStep, StopTogether) {
  ProcessesInStep workers(3, "stop");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
}

TEST(WorkersInStep, EndWithTheExceptionOfOne) {
  ProcessesInStep workers(3, "throw");
  EXPECT_THAT(workers.error(1), HasSubstr("a callback's own error"));
  EXPECT_THAT(workers.error(0), HasSubstr("worker:"));
}

TEST(WorkersInStep, AreInterruptedTogether) {
  ProcessesInStep workers(2, "ever");
  ASSERT_TRUE(becomes_true([&] { return workers.begun(0) && workers.begun(1); }, 60s)) << workers.process(0).errors();
  workers.process(1).signal(SIGINT);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(workers.error(i), HasSubstr("interrupted")) << workers.process(i).errors();
}

TEST(WorkersInStep, NameTheOneThatWasKilled) {
  ProcessesInStep workers(3, "ever");
  ASSERT_TRUE(becomes_true([&] { return workers.begun(0) && workers.begun(1) && workers.begun(2); }, 60s));
  workers.process(1).signal(SIGKILL);
  const auto killed = InStepClock::now();
  for (const int i : {0, 2}) EXPECT_THAT(workers.error(i), HasSubstr("worker:1")) << workers.process(i).errors();
  EXPECT_LT(InStepClock::now() - killed, patience(4s));
}

// Killed at a step, then all of them started again: the weights of a run that nobody killed.
TEST(WorkersInStep, GoOnFromABackup) {
  const TrainedInStep alone = train_in_step(in_step_jobs()[0], "adam");
  for (const char* kill_at : {"3", "8"}) {
    SCOPED_TRACE(kill_at);
    const TemporaryFolder shared;
    const std::string task = "backup " + (shared.path() / "backup").string();
    {
      ProcessesInStep workers(2, task, kill_at);
      EXPECT_THAT(workers.error(0), HasSubstr("worker:1"));
    }
    ProcessesInStep again(2, task);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(again.error(i), "no error") << again.process(i).errors();
      expect_near({read_result(again.folder(i)).weights, {}}, {alone.weights, {}}, 2e-4);
    }
  }
}

// Two workers on one GPU. NCCL takes them for those of two machines, where they are told to be; it would refuse them
// otherwise.
class WorkersOnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_physical_devices("GPU").empty()) GTEST_SKIP() << "there is no GPU";
  }
  static auto apart(const std::string& implementation) {
    return [=](int worker) -> Environment {
      return {{kOnGpu, implementation}, {"NCCL_HOSTID", "machine" + std::to_string(worker)}};
    };
  }
  static auto together(const std::string& implementation) {
    return [=](int) -> Environment { return {{kOnGpu, implementation}}; };
  }
  static std::string said(const StartedProgram& process) { return process.output() + process.errors(); }
};

TEST_F(WorkersOnAGpu, TrainByNcclAsByRing) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    const std::string task = std::string("train ") + job.name;
    const TrainedInStep alone = train_in_step(job, "adam");
    TrainedInStep by_ring;
    {
      ProcessesInStep workers(2, task, "-1", apart("RING"));
      for (int i = 0; i < 2; ++i) EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      by_ring = read_result(workers.folder(0));
    }
    ProcessesInStep workers(2, task, "-1", apart("NCCL"));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      EXPECT_THAT(said(workers.process(i)), HasSubstr("by NCCL"));
      const TrainedInStep trained = read_result(workers.folder(i));
      expect_near(trained, by_ring, 2e-4);
      expect_near(trained, alone, 2e-3);
      EXPECT_EQ(trained.weights, read_result(workers.folder(0)).weights);
    }
  }
}

TEST_F(WorkersOnAGpu, ChooseNcclWhereTheyCan) {
  ProcessesInStep workers(2, "seedless", "-1", apart("AUTO"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
    EXPECT_THAT(said(workers.process(i)), HasSubstr("by NCCL"));
  }
}

TEST_F(WorkersOnAGpu, ShareItByRingAlone) {
  {
    ProcessesInStep workers(2, "seedless", "-1", together("AUTO"));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(workers.error(i), "no error") << workers.process(i).errors();
      EXPECT_THAT(said(workers.process(i)), HasSubstr("by RING (workers 0 and 1 have the same GPU)"));
    }
  }
  ProcessesInStep workers(2, "seedless", "-1", together("NCCL"));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(workers.error(i), HasSubstr("workers 0 and 1 have the same GPU"));
}

TEST_F(WorkersOnAGpu, NameTheOneThatWasKilledOrStopped) {
  for (const int number : {SIGKILL, SIGSTOP}) {
    SCOPED_TRACE(number);
    ProcessesInStep workers(2, "ever", "-1", apart("NCCL"));
    ASSERT_TRUE(becomes_true([&] { return workers.begun(0) && workers.begun(1); }, 60s)) << workers.process(0).errors();
    std::this_thread::sleep_for(500ms);
    workers.process(1).signal(number);
    const auto lost = InStepClock::now();
    EXPECT_THAT(workers.error(0), HasSubstr("worker:1")) << workers.process(0).errors();
    EXPECT_LT(InStepClock::now() - lost, patience(6s));
    workers.process(1).signal(SIGKILL);
  }
}

}  // namespace
}  // namespace cohort::test
