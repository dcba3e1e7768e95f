#include "cohort/graph/hoist_iterators.h"

#include <algorithm>
#include <iterator>

namespace cohort {
namespace {

// Puts `inputs` where node `at` stood, one for each of its outputs.
void replace_by_inputs(Graph& graph, int at, std::vector<Node> inputs) {
  const int added = static_cast<int>(inputs.size()) - 1;
  auto moved = [&](Value& value) {
    if (value.node == at) {
      value = {at + value.output, 0};
    } else if (value.node > at) {
      value.node += added;
    }
  };
  for (Node& node : graph.nodes) {
    for (Value& input : node.inputs) moved(input);
  }
  for (Value& output : graph.outputs) moved(output);
  for (int& input : graph.inputs) input += input > at ? added : 0;
  for (int k = 0; k <= added; ++k) graph.inputs.push_back(at + k);
  graph.nodes.erase(graph.nodes.begin() + at);
  graph.nodes.insert(graph.nodes.begin() + at, std::make_move_iterator(inputs.begin()),
                     std::make_move_iterator(inputs.end()));
}

}  // namespace

std::vector<int> hoist_iterators(Graph& graph, int arguments) {
  std::vector<int> pulls;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op->name() != "IteratorNext") continue;
    const auto position = std::find(graph.inputs.begin(), graph.inputs.end(), graph.nodes[i].inputs[0].node);
    if (position == graph.inputs.end() || position - graph.inputs.begin() >= arguments) continue;
    pulls.push_back(static_cast<int>(position - graph.inputs.begin()));
    const Specs outputs = graph.nodes[i].outputs;
    std::vector<Node> inputs;
    for (const TensorSpec& spec : outputs) {
      Node input;
      input.op = &find_op("Input");
      input.attributes = {{"dtype", spec.dtype}, {"shape", spec.shape}};
      input.outputs = {spec};
      input.name = graph.nodes[i].name + "_element_" + std::to_string(inputs.size());
      inputs.push_back(std::move(input));
    }
    replace_by_inputs(graph, static_cast<int>(i), std::move(inputs));
    i += outputs.size() - 1;
  }
  return pulls;
}

}  // namespace cohort
