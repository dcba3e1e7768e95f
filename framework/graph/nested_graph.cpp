#include "cohort/graph/nested_graph.h"

#include <vector>

#include "cohort/graph/planned_executable.h"

namespace cohort {

// A kernel of the CPU runs its graph on the CPU, whichever device has borrowed it.
NestedGraph::NestedGraph(const Graph& graph, Specs inputs, const KernelSpec& spec)
    : inputs_(std::move(inputs)),
      executable_(compile(graph, inputs_, spec.device().kernel_type() == kCPU ? cpu() : spec.device())) {
  planned_ = dynamic_cast<PlannedExecutable*>(executable_.get()) != nullptr;
}

Specs NestedGraph::outputs() const {
  Specs specs;
  for (const Value& output : executable_->graph().outputs) specs.push_back(executable_->graph().spec(output));
  return specs;
}

void NestedGraph::run(void* const* inputs, void* const* outputs, const RandomState* random,
                      OutputAllocator* allocator) const {
  const Graph& graph = executable_->graph();
  if (planned_) {
    std::vector<void*> asked;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      // Branches of different shapes: the caller learns the shape of this one.
      if (outputs[i]) continue;
      if (asked.empty()) asked.assign(outputs, outputs + graph.outputs.size());
      asked[i] = allocator->allocate(static_cast<int>(i), graph.spec(graph.outputs[i]).shape);
    }
    executable_->run_raw(inputs, asked.empty() ? outputs : asked.data(), random);
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
  Tensors results(graph.outputs.size());
  executable_->run(arguments, results, *random);
  for (std::size_t i = 0; i < results.size(); ++i) {
    void* target = outputs[i] ? outputs[i] : allocator->allocate(static_cast<int>(i), results[i].shape());
    cpu().copy_from_host(target, results[i].raw(), results[i].bytes());
  }
}

}  // namespace cohort
