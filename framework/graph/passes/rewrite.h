#pragma once

#include <vector>

#include "cohort/graph/graph.h"

namespace cohort::passes {

// Rebuilds a graph without the nodes that are not kept, and in dependency order; users of removed nodes must have been
// redirected before.
void compact(Graph& graph, const std::vector<bool>& keep);

// Makes every use of `from` use `to`.
void replace_uses(Graph& graph, Value from, Value to);

// The resource a value is or aliases: the node of the graph input it comes from, -1 when it is none. A read of a
// variable is its memory, and so is a reshape of that read.
int resource_behind(const Graph& graph, Value value);

// The only user of a node's first output, -1 when there are several or it leaves the graph.
int only_user(const Graph& graph, const std::vector<std::vector<std::pair<int, int>>>& users, int node);

// Whether the write to variables at `from` may take place at `to` instead: nothing in between looks at what it writes
// or writes what it looks at.
bool may_move_write(const Graph& graph, int from, int to);

// For each node the nodes that must run before it: its inputs, and where it meets other nodes in a resource or in
// effects, those that came earlier.
std::vector<std::vector<int>> dependencies(const Graph& graph);

// Puts nodes into this order, in which dependencies come first: their present numbers.
void put_in_order(Graph& graph, const std::vector<int>& order);

// Puts nodes into an order in which dependencies come first, staying as close to the present order as possible.
void reorder(Graph& graph, const std::vector<std::vector<int>>& dependencies);

bool is_input(const Node& node);
bool is_constant(const Node& node);

}  // namespace cohort::passes
