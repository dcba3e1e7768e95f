#pragma once

#include <vector>

#include "cohort/graph/placement.h"

namespace cohort {

// When the nodes of a placed graph run: the worker's stage k, then the servers' round k, then the worker's stage k + 1.
struct Rounds {
  // By node, for each of its places in order: the stage (worker) or the round (server).
  std::vector<std::vector<int>> when;
  int count = 0;  // rounds
};

// As few rounds as the order allows: what one server needs of another passes through the worker, and uses of one
// resource and other effects keep the graph's order at each place. Within that a server does things as late as it can,
// so that what needs no answer joins its last round.
Rounds assign_rounds(const Graph& graph, const Placement& placement);

}  // namespace cohort
