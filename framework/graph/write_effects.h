#pragma once

#include <cstdint>
#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// Which of the graph's inputs it writes to, in branches and loops too: positions, in ascending order.
std::vector<int> written_inputs(const Graph& graph);

// Whether a run of the graph on values that fit its inputs may throw after some of its writes have taken place. Rows
// that writes on the outermost level add to are taken for checked before.
bool may_fail_half_way(const Graph& graph);

// The numbers of rows that a graph's writes add to.
struct RowsWritten {
  Graph graph;                     // from the same inputs to a list of numbers for each such write
  std::vector<std::int64_t> rows;  // how many the variable of each write has
};
RowsWritten rows_written(const Graph& graph);

}  // namespace cohort
