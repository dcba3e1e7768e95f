#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/distribute/strategies/distributed_dataset.h"
#include "cohort/distribute/strategies/per_replica.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/variables/replica_context.h"

namespace cohort::distribute {

// What users hold of a strategy: copies share it, and models made in its scope keep it alive.
class StrategyHandle {
 public:
  explicit StrategyHandle(std::shared_ptr<Strategy> body) : body_(std::move(body)) {}
  // Models and variables made while the scope lives belong to this strategy.
  StrategyScope scope() const { return StrategyScope(body_); }
  // Replicas whose gradients meet in one update.
  int num_replicas_in_sync() const { return body_->num_replicas_in_sync(); }

  // Runs code on every replica at once, each with its own values of the arguments, and gives what each returns.
  //   code: a Function, or anything that takes tensors or elements; it may ask get_replica_context().
  //   arguments: tensors, elements, or a PerReplica of them.
  template <class F, class... Arguments>
  PerReplica run(const F& code, const Arguments&... arguments) const {
    return run_with(code, PerReplica(arguments)...);
  }
  // The replicas' values as one: their sum or mean.
  //   axis: an axis of the values that is summed or averaged over as well; none: they stay as they are.
  Tensor reduce(ReduceOp op, const PerReplica& value, std::optional<int> axis = std::nullopt) const;
  // The replicas' values one behind the other along an axis.
  Tensor gather(const PerReplica& value, int axis = 0) const;
  // The values of this process's replicas, in order.
  Tensors experimental_local_results(const PerReplica& value) const;
  // The dataset's global batches, each divided among the replicas.
  DistributedDataset experimental_distribute_dataset(const Dataset& dataset) const;
  // Batches of what a function makes for this process's pipeline: each replica takes the next one.
  DistributedDataset distribute_datasets_from_function(const DatasetCreator::DatasetFn& dataset_fn) const;

  // What the copies share.
  const std::shared_ptr<Strategy>& body() const { return body_; }

 private:
  template <class F, class... Values>
  PerReplica run_with(const F& code, const Values&... values) const {
    std::vector<Element> results(static_cast<std::size_t>(body_->num_local_replicas()));
    body_->run_on_replicas(rows_of({&values...}), [&](int replica) {
      results[static_cast<std::size_t>(replica)] = detail::call_on_replica(code, values.value(replica)...);
    });
    return PerReplica(std::move(results));
  }
  Tensor reduce_in_trace(ReduceOp op, Tensor value, std::optional<int> axis) const;
  // Samples of each replica, as the first argument that knows tells.
  std::vector<std::int64_t> rows_of(const std::vector<const PerReplica*>& arguments) const;

  std::shared_ptr<Strategy> body_;
};

}  // namespace cohort::distribute
