// Linked with a program for a cluster it makes the program's other tasks servers of the same process.
#include <cohort/cohort.h>

#include <cstdlib>

#include "cohort/distribute/cluster/tf_config.h"

namespace {

struct LocalTasks {
  LocalTasks() {
    setenv("TF_CONFIG", cohort::distribute::to_tf_config(cluster.spec(), "chief", 0).c_str(), /*overwrite=*/1);
  }
  cohort::distribute::LocalCluster cluster{{{"chief", 1}, {"worker", 2}, {"ps", 2}}};
} const tasks;

}  // namespace
