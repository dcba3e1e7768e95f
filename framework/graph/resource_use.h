#pragma once

#include <span>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/graph/graph.h"

namespace cohort {

// What a node does to one resource among its inputs, in branches and loop bodies too.
struct ResourceUse {
  int resource = -1;  // the node of the graph input
  bool writes = false;
};

// What each of the node's resources is used for; one that a sub-graph leaves alone counts as read.
std::vector<ResourceUse> resource_uses(const Graph& graph, const Node& node);

// Whether the node does more than compute its outputs and use resources: prints, checks, an iterator's next element.
bool has_other_effects(const Node& node);
bool draws_random_numbers(const Node& node);

// The graph with resources that a branch or loop body was given and leaves alone taken from its node.
Graph without_unused_resources(const Graph& graph);

// The graph with constants in place of what it reads from variables, in branches and loop bodies too, and without the
// inputs that these variables were.
//   values: for each input the value of the variable that it is, or an undefined tensor: it stays. Nothing may write to
//     those with a value.
Graph with_values(const Graph& graph, std::span<const Tensor> values);

}  // namespace cohort
