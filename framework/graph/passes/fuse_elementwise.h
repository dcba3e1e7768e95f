#pragma once

#include "cohort/graph/graph.h"

namespace cohort::passes {

// Groups elementwise ops of one shape into FusedElementwise nodes: one walk over memory instead of one per op.
void fuse_elementwise(Graph& graph);

}  // namespace cohort::passes
