#include "cohort/autodiff/subgraphs.h"

#include <algorithm>
#include <map>
#include <set>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort {
namespace {

Tensor zeros_of(const TensorSpec& spec) {
  return run_op("Fill", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}, {"value", 0.0}});
}

}  // namespace

Specs specs_of(std::span<const Tensor> tensors) {
  Specs specs;
  for (const Tensor& tensor : tensors) specs.push_back(tensor.spec());
  return specs;
}

Specs input_specs(const OpCall& call, int first) {
  Specs specs;
  for (int i = first; i < call.num_inputs(); ++i) specs.push_back(call.spec(i));
  return specs;
}

Tensors joined(std::span<const Tensor> a, std::span<const Tensor> b) {
  Tensors all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

AlignedGraphs align_captures(const std::vector<TracedGraph>& traced) {
  AlignedGraphs result;
  std::map<const void*, std::size_t> position;
  for (const TracedGraph& each : traced) {
    for (const Tensor& capture : each.captures) {
      if (position.emplace(capture.key(), result.captures.size()).second) result.captures.push_back(capture);
    }
  }
  for (const TracedGraph& each : traced) {
    auto graph = std::make_shared<Graph>(*each.graph);
    std::vector<int> capture_inputs(result.captures.size(), -1);
    for (std::size_t i = 0; i < each.captures.size(); ++i) {
      capture_inputs[position.at(each.captures[i].key())] =
          graph->inputs[static_cast<std::size_t>(each.num_arguments) + i];
    }
    graph->inputs.resize(static_cast<std::size_t>(each.num_arguments));
    for (std::size_t i = 0; i < capture_inputs.size(); ++i) {
      const TensorSpec& spec = result.captures[i].spec();
      if (capture_inputs[i] < 0) {
        capture_inputs[i] = graph
                                ->add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}},
                                      "unused_capture_" + std::to_string(i))
                                .node;
      }
      graph->inputs.push_back(capture_inputs[i]);
    }
    result.graphs.push_back(std::move(graph));
  }
  return result;
}

Graph without_effects(const Graph& graph) {
  Graph result = graph;
  std::set<int> read, written;
  std::vector<bool> keep(result.nodes.size(), true);
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    Node& node = result.nodes[i];
    if (node.op->reads_resources()) read.insert(node.inputs[0].node);
    if (node.op->is_stateful() && node.outputs.empty()) {
      keep[i] = false;
      for (const Value& input : node.inputs) {
        if (result.spec(input).dtype == DType::Resource) written.insert(input.node);
      }
    }
    for (const char* name : {"graph", "then", "else", "condition", "body", "forward"}) {
      const AttributeValue* value = node.attributes.find(name);
      if (!value || !std::holds_alternative<GraphPtr>(*value)) continue;
      node.attributes.set(
          name, AttributeValue(GraphPtr(std::make_shared<Graph>(without_effects(*std::get<GraphPtr>(*value))))));
    }
  }
  for (int resource : written) {
    if (!read.contains(resource)) continue;
    throw unimplemented("GradientTape",
                        "a branch or loop body that is differentiated reads or writes a variable, not both", {},
                        "Read the variable before the cond or loop, or write it afterwards.");
  }
  passes::compact(result, keep);
  return result;
}

GradientGraph gradient_graph(const Graph& with_effects, const Specs& inputs, const std::vector<int>& required,
                             const Specs& required_specs) {
  const Graph graph = without_effects(with_effects);
  Specs arguments = inputs;
  for (const Value& output : graph.outputs) {
    if (is_floating(graph.spec(output).dtype)) arguments.push_back(graph.spec(output));
  }
  GradientGraph result;
  const TracedGraph traced = trace(arguments, [&](const Tensors& values) {
    const Tensors originals(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
    GradientTape tape;
    std::vector<int> candidates;
    Tensors sources;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_floating(inputs[i].dtype) && inputs[i].dtype != DType::Resource) continue;
      tape.watch(originals[i]);
      candidates.push_back(static_cast<int>(i));
      sources.push_back(originals[i]);
    }
    Tensors targets, incoming;
    std::size_t next = inputs.size();
    for (const Tensor& output : inline_graph(graph, originals)) {
      if (!is_floating(output.dtype())) continue;
      targets.push_back(output);
      incoming.push_back(values[next++]);
    }
    const Gradients gradients = tape.gradients(targets, sources, incoming);
    Tensors defined;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto needed = std::find(required.begin(), required.end(), candidates[i]);
      if (gradients[i].defined()) {
        defined.push_back(gradients[i].dense());
      } else if (needed != required.end()) {
        const TensorSpec& spec = required_specs.at(static_cast<std::size_t>(needed - required.begin()));
        defined.push_back(inputs[static_cast<std::size_t>(candidates[i])].dtype == DType::Resource
                              ? zeros_of(spec)
                              : run_op("ZerosLike", {sources[i]}));
      } else {
        continue;
      }
      result.sources.push_back(candidates[i]);
    }
    return defined;
  });
  result.graph = traced.graph;
  return result;
}

Tensors dense_output_gradients(std::span<const Tensor> outputs, std::span<const Tensor> gradients) {
  Tensors result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_floating(outputs[i].dtype())) continue;
    result.push_back(gradients[i].defined() ? gradients[i] : run_op("ZerosLike", {outputs[i]}));
  }
  return result;
}

}  // namespace cohort
