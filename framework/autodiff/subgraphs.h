#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cohort/graph/trace.h"

namespace cohort {

using GraphPtr = std::shared_ptr<const Graph>;

Specs specs_of(std::span<const Tensor> tensors);
// Of a call's inputs, from `first` on.
Specs input_specs(const OpCall& call, int first = 0);
Tensors joined(std::span<const Tensor> a, std::span<const Tensor> b);

// Gives graphs traced apart one common list of captures: each takes its arguments, then all captures of all of them.
struct AlignedGraphs {
  std::vector<GraphPtr> graphs;
  Tensors captures;
};
AlignedGraphs align_captures(const std::vector<TracedGraph>& traced);

// The gradient of a graph as a graph: takes the graph's inputs and then a gradient for each of its floating outputs;
// returns the gradients of the inputs in `sources`.
struct GradientGraph {
  GraphPtr graph;
  std::vector<int> sources;  // inputs of the original graph that have a gradient
};
// Every input in `required` appears in the result, with zeros where nothing flows; others only where something does.
GradientGraph gradient_graph(const Graph& graph, const Specs& inputs, const std::vector<int>& required = {},
                             const Specs& required_specs = {});

// The graph without its effects, for a replay: what has no outputs is dropped, in branches and bodies too. Throws when
// a variable is both read and written: its value at the time of the replay is another.
Graph without_effects(const Graph& graph);

// Gradients for the outputs that can have one: zeros where none flows in, nothing for other types.
Tensors dense_output_gradients(std::span<const Tensor> outputs, std::span<const Tensor> gradients);

}  // namespace cohort
