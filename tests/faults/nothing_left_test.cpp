// When a job has ended its tasks end too, and this process is as it was before.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/free_ports.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

std::ptrdiff_t count_in(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

// Some threads of gRPC's pool stay for a while without work.
bool falls_to(const char* folder, std::ptrdiff_t number) {
  for (int tries = 0; tries < 500; ++tries) {
    if (count_in(folder) <= number) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool maps_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:cohort") != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> run_a_job(bool kill_a_worker) {
  ProcessCluster cluster(2, 2);
  {
    distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers);
    EXPECT_EQ(fit_sums(strategy, 200), expected_sums(200));
    if (kill_a_worker) {
      cluster.worker(1).kill();
      EXPECT_EQ(fit_sums(strategy, 200), expected_sums(200));
    }
  }
  for (int i = 0; i < cluster.num_servers(); ++i) EXPECT_TRUE(cluster.server(i).ends_well(5)) << "ps:" << i;
  EXPECT_TRUE(cluster.worker(0).ends_well(5));
  EXPECT_NE(cluster.worker(1).ends_well(5), kill_a_worker);
  return cluster.addresses();
}

TEST(NothingIsLeft, OfTasksThreadsAndPorts) {
  const Deadline deadline(60s);
  run_a_job(false);  // what is made once, of threads and files, is there now
  const std::ptrdiff_t threads = count_in("/proc/self/task"), files = count_in("/proc/self/fd");
  for (const bool kill_a_worker : {false, true}) {
    for (const std::string& address : run_a_job(kill_a_worker)) EXPECT_TRUE(is_free(address)) << address;
    EXPECT_TRUE(falls_to("/proc/self/task", threads)) << count_in("/proc/self/task") << " threads, before " << threads;
    EXPECT_TRUE(falls_to("/proc/self/fd", files)) << count_in("/proc/self/fd") << " files, before " << files;
    EXPECT_FALSE(maps_shared_memory());
  }
}

}  // namespace
}  // namespace cohort::test
