#pragma once

#include "cohort/graph/graph.h"
#include "cohort/summary/graph_def.pb.h"

namespace cohort::summary {

// A graph as TensorBoard's graph page reads it. What an op runs inside it (the body of a loop) stands in its own scope,
// "scan/body/...".
GraphDef graph_def(const Graph& graph);

}  // namespace cohort::summary
