#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cohort/graph/partition.h"
#include "cohort/graph/trace.h"
#include "cohort/variables/variable.h"

namespace cohort::testing {

// Runs a partitioned graph in this process as a cluster would: one worker with replicas, servers with variables of
// their own. Every part goes through its serialised form.
class SimulatedCluster {
 public:
  SimulatedCluster(const TracedGraph& traced, const std::vector<Home>& homes, int servers);

  Tensors step(const Tensors& arguments, const RandomState& random);
  // The value of an input's variable where it lives; one of EveryServer on `server`.
  Tensor value(int input, int server = 0) const;
  const PartitionedGraph& parts() const { return parts_; }
  std::vector<std::size_t> exchanges_per_round() const;

 private:
  void exchange(const ServerExchange& exchange, const Tensors& arguments, Tensors& slots, const RandomState& random);
  Tensor from(int source, const Tensors& arguments, const Tensors& slots) const;
  const Variable& variable(int input, int server) const;

  PartitionedGraph parts_;
  std::vector<Home> homes_;
  std::size_t num_arguments_;
  std::map<int, Variable> on_worker_;                      // by input: replicas, and what is the worker's own
  std::vector<std::map<int, Variable>> on_server_;         // by server and input
  std::vector<std::pair<const Variable*, Tensor>> fresh_;  // to be installed when the step ends
};

// Runs the whole graph on copies of its variables, for comparison.
class WholeRun {
 public:
  explicit WholeRun(const TracedGraph& traced);
  Tensors step(const Tensors& arguments, const RandomState& random);
  Tensor value(int input) const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::size_t num_arguments_;
  std::vector<Variable> variables_;
};

inline const Home kOnWorker{};
inline const Home kEverywhere{Home::Kind::EveryServer};
inline Home on_server(int server) { return {Home::Kind::Server, server}; }

// Homes of a trace's inputs, by variable; what is not named is the worker's.
struct HomeBook {
  std::vector<std::pair<Variable, Home>> known = {};

  std::vector<Home> of(const TracedGraph& traced) const;
};

// The same type, shape and bits.
void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what);

// Five steps on the cluster and of the whole graph; outputs and all variables must agree to the bit.
void expect_equal_runs(SimulatedCluster& cluster, const TracedGraph& traced, const std::vector<Home>& homes,
                       const std::function<Tensors(int)>& arguments, int servers);

}  // namespace cohort::testing
