#pragma once

#include <span>
#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// What a run of a graph wants of it, and what it is given.
struct GraphRequest {
  std::vector<Value> fetches;  // whose values are wanted
  std::vector<int> targets;    // nodes that are to run besides
  std::vector<Value> feeds;    // values that are given instead of computed
};

// The part of `graph` that a run needs, calls inlined, in the order of the graph. Its inputs are the feeds, then those
// inputs of `graph` that it uses; `inputs` gets which nodes of `graph` these are. Effects are needed where a target has
// them. Throws where a value is neither fed nor computed (a placeholder), or named that is not there.
Graph needed_part(const Graph& graph, const GraphRequest& request, std::vector<int>& inputs);

// A stretch of a graph that one place runs at once.
struct PlacedPart {
  int place = 0;
  int round = 0;  // parts of one round do not need one another
  Graph graph;    // its inputs are values, then resources
  // Where the values come from: an input of the whole graph (>= 0), or ~slot of a value that was computed before.
  std::vector<int> values;
  std::vector<int> resources;  // inputs of the whole graph
  std::vector<int> results;    // slots of its outputs
};

// A graph cut by place: parts in the order of their rounds.
struct GraphParts {
  std::vector<PlacedPart> parts;
  int slots = 0;
  std::vector<int> outputs;  // of the whole graph: inputs (>= 0) or ~slot
};

// A place that is wherever it is needed: of inputs, and of constants that nobody has put anywhere.
inline constexpr int kAnyPlace = -1;

// Cuts a graph without calls.
//   places: of each node. Those that use one resource are in one place.
GraphParts cut_by_place(const Graph& graph, std::span<const int> places);

}  // namespace cohort
