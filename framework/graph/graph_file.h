#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cohort/graph/graph.h"

namespace cohort {

// A graph with its constants in one string, for whoever has nowhere to put these beside it.
std::string serialize_with_constants(const Graph& graph);
std::shared_ptr<Graph> parse_graph_with_constants(std::string_view bytes);

}  // namespace cohort
