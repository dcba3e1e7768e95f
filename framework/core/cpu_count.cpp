#include "cohort/core/cpu_count.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace cohort {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// CPUs granted by one control group: "cpu.max" holds "<quota> <period>" in microseconds, the quota may be "max".
double quota_of(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : kNoLimit;
}

// The tightest quota from this process's control group up to the root; the unified hierarchy only.
double cpu_quota() {
  const std::string root = "/sys/fs/cgroup";
  std::ifstream membership("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(membership, line);) {
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  }
  double limit = quota_of(root);
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    limit = std::min(limit, quota_of(root + path));
    if (path.rfind('/') == std::string::npos) break;
  }
  return limit;
}

int bound_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Of the machine, or what it is shown as.
int all_cores() { return std::max(bound_cores(), static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int at_least_one(double cpus) { return std::max(1, static_cast<int>(cpus)); }

}  // namespace

int usable_cpus() { return at_least_one(std::min(std::ceil(cpu_quota()), static_cast<double>(bound_cores()))); }

int usable_cpus_of_each(int processes) {
  const int cores = std::min(bound_cores(), all_cores() / processes);
  return at_least_one(std::min(std::ceil(cpu_quota()) / processes, static_cast<double>(cores)));
}

}  // namespace cohort
