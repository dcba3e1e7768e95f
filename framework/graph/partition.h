#pragma once

#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// Where an input of a graph lives, as seen by whoever runs it (the worker).
struct Home {
  enum class Kind {
    Worker,       // arguments, iterators, and resources the worker keeps itself
    Server,       // a variable of one server
    EveryServer,  // a variable of which each server has a copy of its own: an optimizer's step count, its learning rate
  };
  Kind kind = Kind::Worker;
  int server = 0;
};

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
  // Resources (inputs of the whole graph) of this server that the worker reads: their values after the exchange come
  // back behind what is returned, so that the next step needs no pull. Only in a step's last exchange with a server.
  std::vector<int> fresh;
  bool writes = false;
};

// A graph cut by task. The worker runs stage 0, then the exchanges of round 0 side by side, then stage 1, and so on;
// there is one stage more than rounds. Servers never talk to each other.
struct PartitionedGraph {
  std::vector<WorkerStage> stages;
  std::vector<std::vector<ServerExchange>> rounds;
  // Server variables whose value the stages read: the worker binds replicas to these inputs of the whole graph. One of
  // EveryServer is read from server 0.
  std::vector<int> replicated;
  int slots = 0;
  // The whole graph's outputs: slots (~slot) or inputs (>= 0).
  std::vector<int> outputs;
};

// Cuts `graph`: what writes to a server's variable runs on that server, what only serves such writes and needs nothing
// of the worker's runs there too (a schedule, weight decay), a read before the first write uses the worker's replica,
// all else runs on the worker. Nodes may ask for "/job:ps/task:k" themselves. `homes` has one entry per graph input.
PartitionedGraph partition(const Graph& graph, const std::vector<Home>& homes, int servers);

}  // namespace cohort
