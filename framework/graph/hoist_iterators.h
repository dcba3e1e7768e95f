#pragma once

#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// Makes what the graph takes from its iterator arguments (among its first `arguments` inputs) inputs of their own
// behind all others, to be pulled before it runs: shapes are known then, and the graph can be planned. Returns the
// iterator argument of each pull, in order; a pull fills as many inputs as its element has tensors.
std::vector<int> hoist_iterators(Graph& graph, int arguments);

}  // namespace cohort
