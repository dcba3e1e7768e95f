#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "cohort/data/dataset_creator.h"
#include "cohort/distribute/coordinator/remote_value.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"

namespace cohort::distribute {

// An argument of a scheduled function: the same for all workers, or each worker's own.
using ScheduleArgument = std::variant<Tensor, PerWorkerValues>;

// Hands functions to whichever worker is free, again when a worker dies. Thread-safe.
class ClusterCoordinator {
 public:
  // Over the workers of a strategy.
  explicit ClusterCoordinator(const ParameterServerStrategy& strategy);
  ~ClusterCoordinator();
  ClusterCoordinator(const ClusterCoordinator&) = delete;

  // Queues one call and returns at once; throws the first error of an earlier one.
  RemoteValue schedule(const Function& function, const std::vector<ScheduleArgument>& arguments = {});
  // Waits until everything scheduled has run; throws the first error.
  void join();
  // Whether nothing is left to run; throws the first error.
  bool done();
  // Waits for results; throws their errors. What is no RemoteValue is given back as it is.
  Results fetch(const RemoteValue& value) const { return value.fetch(); }
  std::vector<Results> fetch(const std::vector<RemoteValue>& values) const { return distribute::fetch(values); }
  Tensor fetch(const Tensor& value) const { return value; }
  // A dataset for each worker: the function is called once for each of as many input pipelines.
  PerWorkerDataset create_per_worker_dataset(const std::function<Dataset(const InputContext&)>& dataset_fn);
  // One dataset for all workers: each element goes to whoever takes it first.
  PerWorkerDataset create_per_worker_dataset(const std::function<Dataset()>& dataset_fn);
  PerWorkerDataset create_per_worker_dataset(const Dataset& dataset);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute
