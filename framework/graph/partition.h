#pragma once

#include <vector>

#include "cohort/graph/graph.h"
#include "cohort/graph/placement.h"

namespace cohort {

// A stretch of the graph that the worker runs between exchanges.
struct WorkerStage {
  Graph graph;
  // Where its inputs come from, in order: an input of the whole graph (>= 0), or ~slot of a value computed before.
  std::vector<int> inputs;
  std::vector<int> outputs;  // the slots of its results
};

// One round trip to one server: [receive, apply, send].
struct ServerExchange {
  int server = 0;
  Graph graph;                 // its inputs are what was sent, then resources; its outputs what is returned
  std::vector<int> sent;       // slots (~slot) or inputs of the whole graph (>= 0), in order
  std::vector<int> resources;  // inputs of the whole graph
  std::vector<int> returned;   // slots
  // Resources (inputs of the whole graph) of this server that the worker reads: their values after the exchange, where
  // they are newer than the worker's, come back behind what is returned, so that the next step needs no pull. Those
  // that the graph writes to come first. Only in a step's last exchange with a server.
  std::vector<int> fresh;
  bool writes = false;
};

// All that is replicated from one server: for a worker whose replicas are too old.
struct ServerPull {
  int server = 0;
  std::vector<int> resources;  // inputs of the whole graph
};

// A graph cut by task. The worker runs stage 0, then the exchanges of round 0 side by side, then stage 1, and so on;
// there is one stage more than rounds. Servers never talk to each other.
struct PartitionedGraph {
  std::vector<WorkerStage> stages;
  std::vector<std::vector<ServerExchange>> rounds;
  // Server variables whose value the stages read: the worker binds replicas to these inputs of the whole graph. One of
  // EveryServer is read from server 0. Replicas keep their values until all stages have run.
  std::vector<int> replicated;
  std::vector<ServerPull> pulls;  // one for each server that something is replicated from, in order
  int slots = 0;
  // The whole graph's outputs: slots (~slot) or inputs (>= 0).
  std::vector<int> outputs;
};

// Cuts `graph` by where its nodes run (see place()). `homes` has one entry per graph input.
PartitionedGraph partition(const Graph& graph, const std::vector<Home>& homes, int servers);

// The graph with its writes to resources left out, in branches and loops too: answers a message that has been applied
// before with the values of now. Inputs and outputs stay as they are.
Graph without_writes(const Graph& graph);

}  // namespace cohort
