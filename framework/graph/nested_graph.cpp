#include "cohort/graph/nested_graph.h"

#include <algorithm>
#include <vector>

#include "cohort/graph/planned_executable.h"

namespace cohort {
namespace {

bool may_draw(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    if (node.op->is_random()) return true;
    return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attributes::Entry& entry) {
      const auto* nested = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
      return nested && may_draw(**nested);
    });
  });
}

}  // namespace

// A kernel of the CPU runs its graph on the CPU, whichever device has borrowed it.
NestedGraph::NestedGraph(const Graph& graph, Specs inputs, const KernelSpec& spec)
    : inputs_(std::move(inputs)),
      device_(spec.device().kernel_type() == kCPU ? cpu() : spec.device()),
      executable_(compile(graph, inputs_, device_, {.copies = false})),
      draws_(may_draw(graph)) {
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
  if (device_.is_recording()) {
    throw unimplemented("control flow", "work is recorded only where shapes do not depend on values",
                        {{"device", device_.name()}});
  }
  // Shapes that depend on values: tensors around the caller's memory, or copies of it, results copied out.
  Tensors arguments;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_plain(inputs_[i].dtype)) {
      throw unimplemented("control flow", "a branch or body with shapes that depend on values uses plain tensors only",
                          {{"input", inputs_[i]}}, "Read variables before the cond or loop.");
    }
    if (device_.host_readable()) {
      arguments.push_back(Tensor::from_blob(inputs[i], inputs_[i].dtype, inputs_[i].shape));
    } else {
      arguments.push_back(Tensor::empty(inputs_[i].dtype, inputs_[i].shape, device_));
      device_.copy(arguments.back().raw(), inputs[i], arguments.back().bytes());
    }
  }
  RandomState state;
  device_.copy_to_host(&state, random, sizeof state);
  Tensors results(graph.outputs.size());
  executable_->run(arguments, results, state);
  for (std::size_t i = 0; i < results.size(); ++i) {
    void* target = outputs[i] ? outputs[i] : allocator->allocate(static_cast<int>(i), results[i].shape());
    const Tensor result = results[i].to(device_);
    device_.copy(target, result.raw(), result.bytes());
  }
}

}  // namespace cohort
