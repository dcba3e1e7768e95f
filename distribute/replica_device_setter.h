#pragma once

#include <functional>
#include <string>

#include "cohort/core/device_spec.h"
#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// Chooses the number of a variable's ps task.
using PsStrategy = std::function<int(const DeviceRequest&)>;

// What a replica_device_setter is made with.
struct ReplicaDeviceSetterOptions {
  // How many tasks the job of the parameter servers has; 0: as many as `cluster` says.
  int ps_tasks = 0;
  // Where variables are.
  std::string ps_device = "/job:ps";
  // Where everything else is.
  std::string worker_device = "/job:worker";
  // Counts the tasks of ps_device's job, in place of ps_tasks.
  ClusterSpec cluster = {};
  // Chooses among the tasks; none: one after the other.
  PsStrategy ps_strategy = {};
};

// For ch::device: puts each variable on the next of the parameter servers, and everything else on the workers, unless
// scopes inside say otherwise: what they say is kept, field by field, and a variable that they put into another job is
// not counted. Without parameter servers it chooses nothing.
//   auto scope = ch::device(replica_device_setter({.ps_tasks = 2}));
DeviceFunction replica_device_setter(ReplicaDeviceSetterOptions options);

// A strategy that gives each variable to the task that has the fewest bytes so far.
PsStrategy byte_balanced(int ps_tasks);

}  // namespace cohort::distribute
