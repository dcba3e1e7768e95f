// Workers that come and go while a job runs: started on other ports, added and removed at any moment, and every element
// counts once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/distribute/cluster_status.h"
#include "tests/faults/joining_workers.h"
#include "tests/faults/own_tasks.h"
#include "tests/faults/summing.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

distribute::ParameterServerStrategy elastic_strategy(const distribute::ClusterSpec& spec) {
  return distribute::ParameterServerStrategy(distribute::SimpleClusterResolver(spec),
                                             {.placement = "round_robin", .workers_may_join = true});
}

// Trains again and again until it is told to end.
class LongTraining {
 public:
  explicit LongTraining(const distribute::ClusterSpec& spec)
      : sums_(std::async(std::launch::async, [this, &spec] {
          const distribute::ParameterServerStrategy strategy = elastic_strategy(spec);
          auto scope = strategy.scope();
          SummingModel model;
          do {
            model.fit(numbers(kElements), {.verbose = 0});
            ++epochs_;
          } while (goes_on_);
          return sums_of(model);
        })) {}
  int epochs() const { return epochs_; }
  void expect_exact_sums() {
    goes_on_ = false;
    const Sums sums = sums_.get();
    EXPECT_EQ(sums, expected_sums(kElements, epochs_));
  }

 private:
  static constexpr std::int64_t kElements = 150;
  std::atomic<bool> goes_on_ = true;
  std::atomic<int> epochs_ = 0;
  std::future<Sums> sums_;
};

// Steps that workers have begun for the present job, by their numbers; of those that do not answer there are none.
std::map<std::string, std::uint64_t> steps_of_workers(const distribute::ClusterSpec& spec) {
  std::map<std::string, std::uint64_t> steps;
  for (const distribute::TaskStatus& task : distribute::cluster_status(spec)) {
    if (task.problem.empty() && task.task.starts_with("worker")) steps[task.task] = task.steps;
  }
  return steps;
}

bool works(const distribute::ClusterSpec& spec, const std::string& task, std::uint64_t more_than = 0) {
  return becomes_true([&] {
    const auto steps = steps_of_workers(spec);
    const auto found = steps.find(task);
    return found != steps.end() && found->second > more_than;
  });
}

TEST(ComingAndGoing, EachIsNoticedAndNothingCountsTwice) {
  const Deadline deadline(90s);
  ProcessCluster cluster(0, 2);
  JoiningWorkers workers(cluster.spec());
  LongTraining training(cluster.spec());
  workers.add();  // the job has waited for it
  EXPECT_TRUE(works(cluster.spec(), "worker:0"));
  workers.add(7);
  EXPECT_TRUE(works(cluster.spec(), "worker:7"));
  workers.add();
  EXPECT_TRUE(works(cluster.spec(), "worker:1"));
  workers.kill_and_restart(1);
  EXPECT_TRUE(works(cluster.spec(), "worker:7"));
  workers.remove(0);
  EXPECT_FALSE(steps_of_workers(cluster.spec()).contains("worker:0"));
  const std::uint64_t before = steps_of_workers(cluster.spec())["worker:1"];
  EXPECT_TRUE(works(cluster.spec(), "worker:1", before));
  training.expect_exact_sums();
}

// Of those that are added, removed, or killed and started on another port.
TEST(ComingAndGoing, AtAnyMomentSumsAreExact) {
  const int moments = kills_wanted(3);
  const Deadline deadline(std::chrono::seconds(60 + 3 * moments));
  constexpr std::size_t kMost = 4;
  ProcessCluster cluster(0, 2);
  JoiningWorkers workers(cluster.spec());
  workers.add_numbered();
  workers.add_numbered();
  LongTraining training(cluster.spec());
  std::mt19937 random(20261118);
  int added = 0, removed = 0, moved = 0;
  for (int moment = 0; moment < moments; ++moment) {
    std::this_thread::sleep_for(std::chrono::microseconds(150'000 + random() % 150'000));
    const std::size_t place = random() % workers.size();
    // Each of the three at first, then by chance.
    int choice = moment < 3 ? moment : static_cast<int>(random() % 3);
    if (choice == 0 && workers.size() == kMost) choice = 1;
    if (choice == 1 && workers.size() == 1) choice = 2;
    if (choice == 0) workers.add_numbered();
    if (choice == 1) workers.remove(place);
    if (choice == 2) workers.kill_and_restart(place);
    ++(choice == 0 ? added : choice == 1 ? removed : moved);
  }
  training.expect_exact_sums();
  std::printf("%d added, %d removed, %d killed and started elsewhere, %d epochs\n", added, removed, moved,
              training.epochs());
}

TEST(ComingAndGoing, AListedWorkerMayComeBackElsewhere) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  LongTraining training(cluster.spec());
  EXPECT_TRUE(works(cluster.spec(), "worker:1"));
  cluster.worker(1).kill();
  JoiningWorkers workers(cluster.spec());
  workers.add(1);
  EXPECT_TRUE(becomes_true([&] {
    const auto tasks = distribute::cluster_status(cluster.spec());
    return std::any_of(tasks.begin(), tasks.end(), [&](const distribute::TaskStatus& task) {
      return task.task == "worker:1" && task.address != cluster.spec().task_address("worker", 1) && task.steps > 0;
    });
  }));
  training.expect_exact_sums();
}

TEST(ComingAndGoing, AJobWithoutAnyWorkerSaysSoInTime) {
  ProcessCluster cluster(0, 1);
  const std::string error = error_of([&] {
    distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()),
                                                 {.start_timeout = 0.5, .workers_may_join = true});
  });
  EXPECT_THAT(error, testing::AllOf(testing::StartsWith("Unavailable"), testing::HasSubstr("any worker")));
}

// What the processes of the next one run: they know its source.
TEST(ComingAndGoing, DISABLED_Joins) {
  const distribute::TFConfig config = distribute::parse_tf_config(std::getenv("TF_CONFIG"));
  EXPECT_EQ(
      distribute::Server(config.cluster, {.job_name = "worker", .task_index = config.task_id, .join = true}).join(), 0);
}

std::vector<std::string> lines_of(const std::vector<std::unique_ptr<StartedProgram>>& programs,
                                  const std::string& words) {
  std::vector<std::string> lines;
  for (const auto& program : programs) {
    for (const std::string& line : sorted_lines(program->output())) {
      if (line.starts_with(words)) lines.push_back(line);
    }
  }
  return lines;
}

COHORT_HOST_FUNCTION("coming_and_going>told", [](const Tensors& element) {
  std::printf("took %g\n", static_cast<double>(element[0].to_vector<float>().at(0)));
  std::fflush(stdout);
  return element;
});

// A SIGTERM ends it, and nobody computes again what it had begun.
TEST(ComingAndGoing, WhoLeavesEndsWhatItHasBegun) {
  const Deadline deadline(120s);
  OwnTasks tasks(0, 1);
  std::vector<std::unique_ptr<TemporaryFolder>> folders;
  std::vector<std::unique_ptr<StartedProgram>> workers;
  for (int i = 0; i < 2; ++i) {
    folders.push_back(std::make_unique<TemporaryFolder>());
    workers.push_back(
        start_own_task(tasks.spec(), "worker", i, "ComingAndGoing.DISABLED_Joins", folders.back()->path()));
  }
  const distribute::ParameterServerStrategy strategy = elastic_strategy(tasks.spec());
  ASSERT_TRUE(becomes_true([&] { return strategy.runtime()->connections()->num_workers() == 2; }, 20s));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .steps_per_execution = 20});
  const DatasetCreator data([](const InputContext&) {
    const TensorSpec number{DType::Float32, {1, 1}};
    return counted_source({.takes = 20ms})
        .map(HostFunction::registered("coming_and_going>told", ElementSpec::tuple({number, number})));
  });
  constexpr std::int64_t kSteps = 160;
  auto leaving = std::async(std::launch::async, [&] {
    // In the middle of a closure of 400 ms.
    const bool begun = becomes_true([&] { return sorted_lines(workers[1]->output()).size() > 10; }, 60s);
    workers[1]->signal(SIGTERM);
    return begun && workers[1]->wait() == 0;
  });
  model.fit(data, {.verbose = 0, .steps_per_epoch = kSteps});
  EXPECT_TRUE(leaving.get()) << workers[1]->errors();
  const std::vector<std::string> taken = lines_of(workers, "took ");
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(kSteps)) << "each step once";
}

// Elements take 20 ms to come, so that workers add up on any machine.
TEST(ComingAndGoing, FourWorkersThatJoinDoMoreStepsASecondThanOne) {
  const Deadline deadline(120s);
  constexpr int kMost = 4;
  OwnTasks tasks(0, 1);
  std::vector<std::unique_ptr<TemporaryFolder>> folders;
  std::vector<std::unique_ptr<StartedProgram>> workers;
  const auto add_worker = [&] {
    folders.push_back(std::make_unique<TemporaryFolder>());
    workers.push_back(start_own_task(tasks.spec(), "worker", static_cast<int>(workers.size()),
                                     "ComingAndGoing.DISABLED_Joins", folders.back()->path()));
  };
  add_worker();
  const distribute::ParameterServerStrategy strategy = elastic_strategy(tasks.spec());
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const DatasetCreator data([](const InputContext&) { return counted_source({.takes = 20ms}); });
  const auto steps_per_second = [&](std::int64_t steps) {
    const auto begin = Clock::now();
    model.fit(data, {.verbose = 0, .steps_per_epoch = steps});
    return static_cast<double>(steps) / std::chrono::duration<double>(Clock::now() - begin).count();
  };
  steps_per_second(8);
  std::vector<double> rates;
  for (int count = 1; count <= kMost; ++count) {
    if (count > 1) add_worker();
    const std::string task = "worker:" + std::to_string(count - 1);
    for (int tries = 0; tries < 50 && !steps_of_workers(tasks.spec())[task]; ++tries) steps_per_second(8);
    double best = 0.0;
    for (int tries = 0; tries < 3 && best < 35.0 * count; ++tries) best = std::max(best, steps_per_second(40 * count));
    rates.push_back(best);
  }
  std::printf("steps/s of 1 to 4 workers: %.1f %.1f %.1f %.1f\n", rates[0], rates[1], rates[2], rates[3]);
  for (int i = 1; i < kMost; ++i) EXPECT_GT(rates[static_cast<std::size_t>(i)], rates[static_cast<std::size_t>(i) - 1]);
  EXPECT_GT(rates.back(), 2.5 * rates.front());
}

}  // namespace
}  // namespace cohort::test
