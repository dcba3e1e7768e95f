#include "cohort/core/free_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace cohort {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kibibytes = 0; file >> name >> kibibytes; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kibibytes << 10;
  }
  return kUnlimited;
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : kUnlimited;  // "max" is none
}

// From this process's control group up to the root; the unified hierarchy only. Memory that holds files is given up
// when it is wanted.
std::uint64_t left_in_groups() {
  const std::string root = "/sys/fs/cgroup";
  std::ifstream membership("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(membership, line);) {
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  }
  std::uint64_t left = kUnlimited;
  for (std::string group = root + path; group.size() >= root.size(); group.resize(group.rfind('/'))) {
    const std::uint64_t most = number_in(group + "/memory.max"), used = number_in(group + "/memory.current");
    if (most == kUnlimited || used == kUnlimited) continue;
    std::uint64_t files = 0;
    std::ifstream statistics(group + "/memory.stat");
    std::string name;
    for (std::uint64_t bytes = 0; statistics >> name >> bytes;) {
      if (name == "inactive_file") files = bytes;
    }
    const std::uint64_t held = used - std::min(used, files);
    left = std::min(left, most - std::min(most, held));
  }
  return left;
}

std::uint64_t left_of_address_space() {
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return kUnlimited;
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return most.rlim_cur - std::min<std::uint64_t>(most.rlim_cur, used);
}

}  // namespace

std::uint64_t free_memory() { return std::min({available_on_machine(), left_in_groups(), left_of_address_space()}); }

}  // namespace cohort
