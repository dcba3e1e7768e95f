#pragma once

#include <algorithm>
#include <memory>
#include <variant>

#include "cohort/graph/graph.h"

namespace cohort::distribute {

// Whether replicas in step meet in an op: what it gives is the same on all of them.
inline bool is_collective(const OpDef& op) {
  return op.name().starts_with("AllReduce") || op.name() == "BroadcastFirst";
}

// Whether they meet in a branch or loop of the node.
inline bool has_collective_inside(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attributes::Entry& entry) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
    return graph && std::any_of((*graph)->nodes.begin(), (*graph)->nodes.end(), [](const Node& inner) {
             return is_collective(*inner.op) || has_collective_inside(inner);
           });
  });
}

// Whether replicas put together what each has in a graph, in branches and loops too.
inline bool gathers_replicas(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->name() == "GatherReplicas" ||
           std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attributes::Entry& entry) {
             const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
             return inner && gathers_replicas(**inner);
           });
  });
}

}  // namespace cohort::distribute
