#include "cohort/core/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace cohort {
namespace {

// The cores that the calling thread was bound to before.
class BoundCores {
 public:
  BoundCores() { sched_getaffinity(0, sizeof(before_), &before_); }
  ~BoundCores() { sched_setaffinity(0, sizeof(before_), &before_); }
  void keep(int cores) const {
    cpu_set_t fewer;
    CPU_ZERO(&fewer);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&fewer) < cores; ++core)
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &fewer);
    sched_setaffinity(0, sizeof(fewer), &fewer);
  }

 private:
  cpu_set_t before_;
};

TEST(CpuCount, ProcessesShareTheCores) {
  EXPECT_EQ(usable_cpus_of_each(1), usable_cpus());
  for (const int processes : {2, 3, 1'000'000}) {
    const int each = usable_cpus_of_each(processes);
    EXPECT_GE(each, 1);
    EXPECT_TRUE(each == 1 || each * processes <= sysconf(_SC_NPROCESSORS_ONLN)) << processes;
  }
}

TEST(CpuCount, CoresThatAProcessIsBoundToAreItsOwn) {
  const BoundCores cores;
  const auto all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (all < 4 || usable_cpus() < all) GTEST_SKIP() << "4 cores without a quota are expected";
  cores.keep(all / 2);
  EXPECT_EQ(usable_cpus(), all / 2);
  EXPECT_EQ(usable_cpus_of_each(2), all / 2);
  cores.keep(1);
  EXPECT_EQ(usable_cpus_of_each(2), 1);
}

}  // namespace
}  // namespace cohort
