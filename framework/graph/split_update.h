#pragma once

#include <optional>
#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// A part of a graph that runs by itself.
struct GraphPart {
  Graph graph;
  // Which inputs of the whole graph its own are, in order.
  std::vector<int> inputs;
};

// A training step in two halves that meet in its collectives: replicas compute and bring what is reduced, and one place
// updates variables with what comes of it.
struct SplitStep {
  // All outputs and effects but writes to the updated variables, save those that it reads afterwards.
  GraphPart compute;
  // Writes to the updated variables. It comes to every collective, and brings zeros.
  GraphPart update;
};

// Cuts a step by what it writes; none where replicas must compute for the update by themselves, because they meet in
// branches or loops, or to reduce values of unknown shape.
//   updated: inputs of the graph that are the variables.   collectives: inputs by which replicas meet.
std::optional<SplitStep> split_update(const Graph& graph, const std::vector<int>& updated,
                                      const std::vector<int>& collectives);

}  // namespace cohort
