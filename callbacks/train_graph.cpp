#include "cohort/callbacks/train_graph.h"

#include "cohort/model/fit/training.h"
#include "cohort/model/model.h"
#include "cohort/variables/variable_body.h"

namespace cohort::callbacks {
namespace {

// How Model::train_step names what its tape makes.
constexpr std::string_view kGradientScope = "gradients/";

std::string node_scope(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash + 1);
}

void name_graph_inputs(const TracedGraph& traced, Graph& graph) {
  const auto arguments = static_cast<std::size_t>(traced.num_arguments);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    Node& node = graph.nodes[static_cast<std::size_t>(graph.inputs[i])];
    if (i < arguments) {
      node.name = "data/input_" + std::to_string(i);
    } else if (i - arguments < traced.captures.size()) {
      const Tensor& capture = traced.captures[i - arguments];
      if (capture.dtype() != DType::Resource || capture.is_symbolic()) continue;
      const auto* variable = dynamic_cast<const VariableBody*>(capture.resource().get());
      if (variable && !variable->path().empty()) node.name = variable->path();
    }
  }
}

// Gathers what a tape made by the layer whose values it works on, and what stands alone in one place.
void sort_into_scopes(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.op->name() == "Input") continue;
    if (node.name.find('/') == std::string::npos) {
      node.name = "step/" + node.name;
    } else if (node.name.starts_with(kGradientScope)) {
      for (const Value& input : node.inputs) {
        const Node& source = graph.nodes[static_cast<std::size_t>(input.node)];
        if (source.op->name() == "Input" || source.name.starts_with(kGradientScope)) continue;
        node.name.insert(kGradientScope.size(), node_scope(source.name));
        break;
      }
    }
  }
}

}  // namespace

std::unique_ptr<Graph> named_train_graph(Model& model) {
  const StepGraph* step = model.training().program(Program::Kind::Train)->latest_step();
  if (!step) return nullptr;
  auto graph = std::make_unique<Graph>(*step->traced.graph);
  name_graph_inputs(step->traced, *graph);
  sort_into_scopes(*graph);
  return graph;
}

}  // namespace cohort::callbacks
