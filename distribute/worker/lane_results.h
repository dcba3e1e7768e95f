#pragma once

#include <utility>
#include <vector>

#include "cohort/distribute/worker/worker_function.h"

namespace cohort::distribute {

// Sets what a function adds up on all lanes to zero.
void zero_accumulators(const WorkerFunction& function);
// Adds what all lanes have added up together, on the host. On a device also the place where a closure's last errors
// come to light.
void add_accumulators(const WorkerFunction& function, const WorkerDevices& devices, Tensors& values);
// Adds a step's outputs, on the host: the first lane's, or the rows of all of them.
void add_outputs(const WorkerFunction& function, const WorkerDevices& devices, Tensors& outputs);

// What lanes without a row of a step's elements have added up before it: what they add in it does not count.
class SumsOfIdleLanes {
 public:
  SumsOfIdleLanes(const WorkerFunction& function, const WorkerDevices& devices);
  // Takes back what was added since.
  void restore() const;

 private:
  std::vector<std::pair<const Variable*, Tensor>> sums_;
};

}  // namespace cohort::distribute
