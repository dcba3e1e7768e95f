#include "cohort/autodiff/remat.h"

#include "cohort/autodiff/subgraphs.h"
#include "cohort/autodiff/tape.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

// The first input, once the second is there. To the passes its result is another value: what is computed from it is not
// taken for what the forward pass computed.
COHORT_OP("WaitFor")
    .inputs(2)
    .infer([](const OpCall& call) -> Specs { return {call.spec(0)}; })
    .gradient([](const OpCall&, const Tensor& dy) -> Gradients {
      return {dy, Gradient()};
    });

COHORT_OP("Remat")
    .inputs(0, -1)
    .stateful()
    .writes()
    .infer([](const OpCall& call) {
      const Graph known = specialize(*call.attr<GraphPtr>("graph"), input_specs(call));
      Specs specs;
      for (const Value& output : known.outputs) specs.push_back(known.spec(output));
      return specs;
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      const Graph known = specialize(*call.attr<GraphPtr>("graph"), input_specs(call));
      const GradientGraph gradient = gradient_graph(known, input_specs(call));
      if (gradient.sources.empty()) return Gradients(call.inputs().size());
      const Tensors incoming = dense_output_gradients(call.outputs(), dy);
      Tensors again;
      for (const Tensor& input : call.inputs()) {
        again.push_back(input.dtype() == DType::Resource ? input : run_op("WaitFor", {input, incoming.at(0)}));
      }
      const Tensors values = run_op_all("Call", joined(again, incoming), {{"graph", gradient.graph}});
      Gradients result(call.inputs().size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        result[static_cast<std::size_t>(gradient.sources[i])] = values[i];
      }
      return result;
    });

}  // namespace

Tensors rematerialized(const std::function<Tensors(const Tensors&)>& body, const Tensors& inputs) {
  const TracedGraph traced = trace(specs_of(inputs), body, inputs);
  return run_op_all("Remat", joined(inputs, traced.captures), {{"graph", traced.graph}});
}

}  // namespace cohort
