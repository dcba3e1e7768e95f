#pragma once

#include <vector>

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

}  // namespace cohort
