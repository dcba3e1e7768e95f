#include "cohort/graph/nested_graph.h"

#include <algorithm>

namespace cohort {

NestedGraph::NestedGraph(const Graph& graph, Specs inputs)
    : inputs_(std::move(inputs)), executable_(compile(graph, inputs_, cpu())) {
  const Graph& compiled = executable_->graph();
  planned_ = std::all_of(compiled.nodes.begin(), compiled.nodes.end(), [](const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [](const TensorSpec& s) { return s.shape.fully_known() && s.dtype != DType::String; });
  });
}

Specs NestedGraph::outputs() const {
  Specs specs;
  for (const Value& output : executable_->graph().outputs) specs.push_back(executable_->graph().spec(output));
  return specs;
}

void NestedGraph::run(void* const* inputs, void* const* outputs, const RandomState& random,
                      OutputAllocator* allocator) const {
  if (planned_) {
    executable_->run_raw(inputs, outputs, random);
    return;
  }
  // Shapes that depend on values: tensors around the caller's memory, results copied out.
  Tensors arguments;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_plain(inputs_[i].dtype)) {
      throw unimplemented("control flow", "a branch or body with shapes that depend on values uses plain tensors only",
                          {{"input", inputs_[i]}}, "Read variables before the cond or loop.");
    }
    arguments.push_back(Tensor::from_blob(inputs[i], inputs_[i].dtype, inputs_[i].shape));
  }
  Tensors results(executable_->graph().outputs.size());
  executable_->run(arguments, results, random);
  for (std::size_t i = 0; i < results.size(); ++i) {
    void* target = outputs[i] ? outputs[i] : allocator->allocate(static_cast<int>(i), results[i].shape());
    cpu().copy_from_host(target, results[i].raw(), results[i].bytes());
  }
}

}  // namespace cohort
