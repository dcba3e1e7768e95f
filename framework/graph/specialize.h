#pragma once

#include "cohort/graph/graph.h"

namespace cohort {

// The graph with these specs for its inputs and every other spec inferred again.
Graph specialize(const Graph& graph, std::span<const TensorSpec> inputs);

// Replaces Call and CustomGradient nodes by the nodes of their graphs.
Graph inline_calls(const Graph& graph);

}  // namespace cohort
