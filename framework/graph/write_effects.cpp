#include "cohort/graph/write_effects.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "cohort/graph/partition.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"

namespace cohort {
namespace {

constexpr std::string_view kAddsRows = "ScatterAddVariable";

// Beside elementwise ops, whose kernels look at no value before they use it.
constexpr std::array kNeverFails = std::to_array<std::string_view>(
    {"All",          "Any",         "BroadcastLike", "BroadcastTo", "Concat",    "ExpandDims", "Fill",     "FullLike",
     "Identity",     "MatMul",      "Max",           "Mean",        "MergeAxes", "Min",        "OnesLike", "Prod",
     "Reshape",      "ReshapeLike", "Select",        "ShapeOf",     "SizeOf",    "Slice",      "Squeeze",  "Stack",
     "StopGradient", "Sum",         "SumToLike",     "Transpose",   "WaitFor",   "ZerosLike"});

bool may_fail(const Node& node, bool rows_are_checked) {
  const OpDef& op = *node.op;
  if (passes::is_input(node) || passes::is_constant(node)) return false;
  bool nested = false;
  for (const Attributes::Entry& entry : node.attributes) {
    const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
    if (!inner) continue;
    nested = true;
    const auto fails = [](const Node& each) { return may_fail(each, /*rows_are_checked=*/false); };
    if (std::any_of((*inner)->nodes.begin(), (*inner)->nodes.end(), fails)) return true;
  }
  if (nested) return op.name() == "While";  // which may end without an end
  if (op.name() == kAddsRows) return !rows_are_checked;
  if (op.writes_resources()) return false;
  if (op.is_stateful() || op.has_dynamic_outputs() || op.is_host_only()) return true;
  if (op.is_elementwise() || op.is_alias() || op.reads_resources()) return false;
  return std::find(kNeverFails.begin(), kNeverFails.end(), op.name()) == kNeverFails.end();
}

}  // namespace

std::vector<int> written_inputs(const Graph& graph) {
  std::vector<bool> written(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ResourceUse& use : resource_uses(graph, node)) {
      if (use.writes) written[static_cast<std::size_t>(use.resource)] = true;
    }
  }
  std::vector<int> positions;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (written[static_cast<std::size_t>(graph.inputs[i])]) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

bool may_fail_half_way(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return may_fail(node, /*rows_are_checked=*/true); });
}

RowsWritten rows_written(const Graph& graph) {
  RowsWritten result;
  Graph numbers = graph;
  numbers.outputs.clear();
  for (const Node& node : graph.nodes) {
    if (node.op->name() != kAddsRows) continue;
    numbers.outputs.push_back(node.inputs[1]);
    result.rows.push_back(node.attributes.get<Shape>("shape")[0]);
  }
  if (!result.rows.empty()) result.graph = without_writes(numbers);
  return result;
}

}  // namespace cohort
