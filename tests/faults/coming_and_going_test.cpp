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

constexpr int kAnyIndex = -1;

distribute::ParameterServerStrategy elastic_strategy(const distribute::ClusterSpec& spec) {
  return distribute::ParameterServerStrategy(distribute::SimpleClusterResolver(spec),
                                             {.placement = "round_robin", .workers_may_join = true});
}

// Processes of `cohort server --join`, each time on a free port.
class Workers {
 public:
  explicit Workers(const distribute::ClusterSpec& spec) : cluster_(spec.as_text()) {}
  std::size_t size() const { return running_.size(); }
  ServerProcess& at(std::size_t place) { return *running_.at(place); }
  ServerProcess& add(int index = kAnyIndex) {
    const std::string log = logs_.file("worker" + std::to_string(++started_));
    running_.push_back(std::make_unique<ServerProcess>("worker", index, cluster_, "127.0.0.1:0", log,
                                                       std::vector<std::string>{"--join"}));
    return *running_.back();
  }
  // Under the lowest number that none of them has: started again it is the same worker.
  void add_numbered() {
    int number = 0;
    while (std::any_of(running_.begin(), running_.end(),
                       [&](const auto& worker) { return worker->task() == "worker:" + std::to_string(number); }))
      ++number;
    add(number);
  }
  void kill_and_restart(std::size_t place) {
    at(place).kill();
    at(place).start();
  }
  void remove(std::size_t place) {
    at(place).ask_to_end();
    EXPECT_TRUE(at(place).ends_well(20)) << at(place).output();
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
  }

 private:
  const TemporaryFolder logs_;
  const std::string cluster_;
  std::vector<std::unique_ptr<ServerProcess>> running_;
  int started_ = 0;
};

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
  Workers workers(cluster.spec());
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
  Workers workers(cluster.spec());
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
  Workers workers(cluster.spec());
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
