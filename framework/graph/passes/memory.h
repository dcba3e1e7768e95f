#pragma once

#include <vector>

#include "cohort/graph/graph.h"

namespace cohort::passes {

// Where a value lives while the graph runs.
struct Location {
  enum class Kind { None, Arena, Input, Output, Constant };
  Kind kind = Kind::None;
  std::size_t offset = 0;  // Arena: byte offset
  int slot = 0;            // Input and Output: position among the graph's inputs / outputs; Constant: node
};

struct MemoryPlan {
  std::vector<std::vector<Location>> locations;  // by node and output
  std::size_t arena_bytes = 0;
  std::vector<std::pair<int, Location>> output_copies;  // graph outputs that are not written in place: (output, source)
  std::vector<int> lasting;                             // nodes whose results nothing else is written over
};

// Gives every value of a graph with known shapes a place. With `share`, values whose lives do not overlap share memory
// and an op that may writes over an input that dies there. With `lasting`, what elementwise ops make of the graph's
// inputs alone and is needed until late keeps its memory through the run: on the same inputs the next need not make it.
MemoryPlan plan_memory(const Graph& graph, bool share, bool lasting = false);

}  // namespace cohort::passes
