// Data, functions and variables that come and go leave nothing behind, here or in the tasks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "cohort/cohort.h"
#include "tests/support/deadline.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

constexpr std::int64_t kMegabyteColumns = 256, kMegabyteRows = 1024;  // one MB
constexpr double kMegabyte = 1e6;

// A few in the suite, COHORT_TEST_ROUNDS where somebody wants to be sure.
int rounds_wanted(int usually) {
  const char* text = std::getenv("COHORT_TEST_ROUNDS");
  return text ? std::atoi(text) : usually;
}

double resident_megabytes(pid_t id) {
  std::ifstream status("/proc/" + std::to_string(id) + "/statm");
  double all = 0, resident = 0;
  status >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / kMegabyte;
}

class Memory {
 public:
  explicit Memory(ProcessCluster& cluster) {
    ids_["chief"] = ::getpid();
    for (int i = 0; i < cluster.num_workers(); ++i) ids_[cluster.worker(i).task()] = cluster.worker(i).id();
    for (int i = 0; i < cluster.num_servers(); ++i) ids_[cluster.server(i).task()] = cluster.server(i).id();
    for (const auto& [task, id] : ids_) before_[task] = resident_megabytes(id);
  }
  // Since it was made.
  std::map<std::string, double> growth() const {
    std::map<std::string, double> growth;
    for (const auto& [task, id] : ids_) growth[task] = resident_megabytes(id) - before_.at(task);
    return growth;
  }

 private:
  std::map<std::string, pid_t> ids_;
  std::map<std::string, double> before_;
};

Tensor new_data(std::mt19937& random) {
  std::vector<float> values(static_cast<std::size_t>(kMegabyteRows * kMegabyteColumns));
  for (float& value : values) value = static_cast<float>(random() % 1000) / 1000.0f;
  return Tensor::of(values, {kMegabyteRows, kMegabyteColumns});
}

void expect_little_growth(const Memory& memory, double most) {
  for (const auto& [task, megabytes] : memory.growth()) EXPECT_LE(megabytes, most) << task;
}

TEST(Growth, NewDataInEveryCallLeavesNothingBehind) {
  const int rounds = rounds_wanted(60);
  const Deadline deadline(std::chrono::seconds(120 + rounds));
  ProcessCluster cluster(2, 1);
  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(4)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 4});
  std::mt19937 random(1);
  const Tensor y = Tensor::full({kMegabyteRows, 4}, 0.5);
  const auto round = [&] {
    model.predict(datasets::from_tensor_slices(new_data(random)).batch(64), {.verbose = 0});
    model.evaluate(datasets::from_tensor_slices(new_data(random), y).batch(64), {.verbose = 0});
    model.fit(datasets::from_tensor_slices(new_data(random), y).shuffle(kMegabyteRows).batch(64), {.verbose = 0});
  };
  for (int i = 0; i < 10; ++i) round();  // what is made once is there now
  const Memory memory(cluster);
  for (int i = 0; i < rounds; ++i) round();
  expect_little_growth(memory, 20);
}

TEST(Growth, ModelsThatComeAndGoLeaveNothingBehind) {
  const int rounds = rounds_wanted(40);
  const Deadline deadline(std::chrono::seconds(120 + rounds));
  ProcessCluster cluster(2, 1);
  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  auto scope = strategy.scope();
  const Dataset data =
      datasets::from_tensor_slices(Tensor::full({64, kMegabyteColumns}, 0.5), Tensor::full({64, 1024}, 0.5)).batch(16);
  // A kernel of one MB, two slots of it, and replicas.
  const auto round = [&] {
    Sequential model({layers::Dense(1024)});
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(data, {.verbose = 0});
  };
  for (int i = 0; i < 10; ++i) round();
  const Memory memory(cluster);
  for (int i = 0; i < rounds; ++i) round();
  expect_little_growth(memory, 20);
}

}  // namespace
}  // namespace cohort::test
