#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/coordinator/cluster.h"
#include "cohort/distribute/rpc/repeating_stream.h"
#include "cohort/graph/graph.h"
#include "cohort/graph/partition.h"
#include "cohort/variables/variable.h"

namespace cohort::distribute {

// What an input of a function's graph stands for.
struct PlacedInput {
  enum class Kind { Argument, Element, Iterator, Resource };
  Kind kind = Kind::Argument;
  int pull = 0, leaf = 0;  // of an element
  Tensor resource = {};
};

// A function cut by task and known to the servers; workers learn of it when they first run it. Thread-safe.
class PlacedFunction {
 public:
  // `pulls` names the iterator argument of each element a call takes, in order.
  PlacedFunction(Cluster& cluster, const Graph& graph, const std::vector<PlacedInput>& inputs, std::vector<int> pulls);

  std::uint64_t handle() const { return handle_; }
  // Elements that one step takes of the iterator argument.
  int pulls_of(int iterator) const;
  // Variables of the chief to which results add, in the order of ClosureResult::accumulated.
  const std::vector<Variable>& accumulators() const { return accumulators_; }
  const PartitionedGraph& parts() const { return parts_; }
  int num_outputs() const { return static_cast<int>(parts_.outputs.size()); }
  // The worker's part, to be sent with `attach`.
  void register_on(rpc::RepeatingStream& stream, std::uint64_t job, SentConstants& sent) const;

 private:
  void register_on_servers(Cluster& cluster, const std::vector<PlacedInput>& inputs);
  void describe_for_workers(const Cluster& cluster, const std::vector<PlacedInput>& inputs,
                            const std::vector<Home>& homes);

  const std::uint64_t handle_;
  const std::vector<int> pulls_;
  PartitionedGraph parts_;
  std::vector<Variable> accumulators_;
  std::string worker_part_;  // RegisterWorkerProto
  ConstantTable worker_constants_;
};

}  // namespace cohort::distribute
