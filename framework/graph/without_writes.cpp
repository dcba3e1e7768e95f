#include "cohort/graph/partition.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort {

Graph without_writes(const Graph& graph) {
  Graph result = graph;
  std::vector<bool> keep(result.nodes.size(), true);
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    Node& node = result.nodes[i];
    bool nested = false;
    Attributes attributes = node.attributes;
    for (const Attributes::Entry& entry : node.attributes) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
      if (!inner) continue;
      nested = true;
      attributes.set(entry.name,
                     AttributeValue(std::shared_ptr<const Graph>(std::make_shared<Graph>(without_writes(**inner)))));
    }
    node.attributes = std::move(attributes);
    if (!node.op->writes_resources() || nested) continue;
    if (!node.outputs.empty()) {
      throw unimplemented("without_writes", "an op that writes to a resource returns nothing",
                          {{"op", node.op->name()}, {"node", node.name}});
    }
    keep[i] = false;
  }
  passes::compact(result, keep);
  passes::remove_dead_nodes(result);
  return result;
}

}  // namespace cohort
