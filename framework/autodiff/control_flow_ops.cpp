#include <algorithm>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/subgraphs.h"
#include "cohort/autodiff/tape.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

Specs output_specs(const Graph& graph, std::span<const TensorSpec> inputs) {
  const Graph known = specialize(graph, inputs);
  Specs specs;
  for (const Value& output : known.outputs) specs.push_back(known.spec(output));
  return specs;
}

// Places gradients of some inputs among all of them.
Gradients scatter(std::size_t inputs, const std::vector<int>& sources, const Tensors& values, std::size_t offset = 0) {
  Gradients result(inputs);
  for (std::size_t i = 0; i < sources.size(); ++i) result[static_cast<std::size_t>(sources[i]) + offset] = values[i];
  return result;
}

COHORT_OP("Call")
    .inputs(0, -1)
    .stateful()
    .writes()
    .infer([](const OpCall& call) { return output_specs(*call.attr<GraphPtr>("graph"), input_specs(call)); })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      const Graph known = specialize(*call.attr<GraphPtr>("graph"), input_specs(call));
      const GradientGraph gradient = gradient_graph(known, input_specs(call));
      if (gradient.sources.empty()) return Gradients(call.inputs().size());
      const Tensors values = run_op_all("Call", joined(call.inputs(), dense_output_gradients(call.outputs(), dy)),
                                        {{"graph", gradient.graph}});
      return scatter(call.inputs().size(), gradient.sources, values);
    });

// forward(inputs) -> result; backward(inputs, dy) -> gradients of the inputs named by "sources".
COHORT_OP("CustomGradient")
    .inputs(0, -1)
    .infer([](const OpCall& call) { return output_specs(*call.attr<GraphPtr>("forward"), input_specs(call)); })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      const Tensors values =
          run_op_all("Call", joined(call.inputs(), Tensors{dy}), {{"graph", call.attr<GraphPtr>("backward")}});
      std::vector<int> sources;
      for (std::int64_t source : call.attr<std::vector<std::int64_t>>("sources"))
        sources.push_back(static_cast<int>(source));
      return scatter(call.inputs().size(), sources, values);
    });

Specs infer_cond(const OpCall& call) {
  call.check(call.dtype(0) == DType::Bool && call.rank(0) == 0, "the predicate is a boolean scalar",
             {{"predicate", call.spec(0)}});
  Specs yes = output_specs(*call.attr<GraphPtr>("then"), input_specs(call, 1));
  const Specs no = output_specs(*call.attr<GraphPtr>("else"), input_specs(call, 1));
  call.check(yes.size() == no.size(), "both branches return as many tensors",
             {{"then", yes.size()}, {"else", no.size()}});
  for (std::size_t i = 0; i < yes.size(); ++i) {
    call.check(yes[i].dtype == no[i].dtype && yes[i].shape.rank() == no[i].shape.rank(),
               "both branches return tensors of the same type and rank", {{"then", yes[i]}, {"else", no[i]}});
    for (int axis = 0; axis < yes[i].shape.rank(); ++axis) {
      if (yes[i].shape[axis] != no[i].shape[axis]) yes[i].shape[axis] = kUnknown;
    }
  }
  return yes;
}

COHORT_OP("Cond")
    .inputs(1, -1)
    .stateful()
    .writes()
    .infer(infer_cond)
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      const Specs specs = input_specs(call, 1);
      const GraphPtr branches[] = {call.attr<GraphPtr>("then"), call.attr<GraphPtr>("else")};
      // Both gradients must return the same inputs' gradients: zeros where a branch does not use one.
      std::vector<int> sources;
      Specs source_specs;
      for (const GraphPtr& branch : branches) {
        const GradientGraph gradient = gradient_graph(specialize(*branch, specs), specs);
        for (std::size_t i = 0; i < gradient.sources.size(); ++i) {
          if (std::find(sources.begin(), sources.end(), gradient.sources[i]) != sources.end()) continue;
          sources.push_back(gradient.sources[i]);
          source_specs.push_back(gradient.graph->spec(gradient.graph->outputs[i]));
        }
      }
      if (sources.empty()) return Gradients(call.inputs().size());
      const GradientGraph yes = gradient_graph(specialize(*branches[0], specs), specs, sources, source_specs);
      const GradientGraph no = gradient_graph(specialize(*branches[1], specs), specs, sources, source_specs);
      const Tensors values = run_op_all("Cond", joined(call.inputs(), dense_output_gradients(call.outputs(), dy)),
                                        {{"then", yes.graph}, {"else", no.graph}});
      return scatter(call.inputs().size(), yes.sources, values, 1);
    });

COHORT_OP("While")
    .inputs(0, -1)
    .attr("maximum_iterations", -1)
    .stateful()
    .writes()
    .infer([](const OpCall& call) -> Specs {
      const Specs answer = output_specs(*call.attr<GraphPtr>("condition"), input_specs(call));
      call.check(answer.size() == 1 && answer[0].dtype == DType::Bool && answer[0].shape.rank() == 0,
                 "the condition returns one boolean scalar",
                 {{"returned", answer.empty() ? std::string("nothing") : answer[0].to_string()}});
      const Specs after = output_specs(*call.attr<GraphPtr>("body"), input_specs(call));
      call.check(static_cast<std::int64_t>(after.size()) == call.attr<std::int64_t>("num_variables") &&
                     after.size() <= static_cast<std::size_t>(call.num_inputs()),
                 "the body returns as many tensors as there are loop variables",
                 {{"returned", after.size()}, {"variables", call.attr<std::int64_t>("num_variables")}});
      for (std::size_t i = 0; i < after.size(); ++i) {
        call.check(after[i] == call.spec(static_cast<int>(i)), "a loop variable keeps its type and shape",
                   {{"before", call.spec(static_cast<int>(i))}, {"after", after[i]}});
      }
      return after;
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      const std::int64_t limit = call.attr<std::int64_t>("maximum_iterations");
      call.check(limit >= 0, "a while_loop has a gradient only with maximum_iterations",
                 {{"maximum_iterations", limit}});
      // As a scan over `limit` turns that stands still once the condition fails.
      const GraphPtr condition = call.attr<GraphPtr>("condition"), body = call.attr<GraphPtr>("body");
      const std::size_t variables = call.outputs().size();
      const Tensors captures(call.inputs().begin() + static_cast<std::ptrdiff_t>(variables), call.inputs().end());
      GradientTape tape;
      Tensors sources;
      std::vector<int> positions;
      for (std::size_t i = 0; i < call.inputs().size(); ++i) {
        const Tensor& input = call.inputs()[i];
        if (!is_floating(input.dtype()) && input.dtype() != DType::Resource) continue;
        tape.watch(input);
        sources.push_back(input);
        positions.push_back(static_cast<int>(i));
      }
      const Tensors start(call.inputs().begin(), call.inputs().begin() + static_cast<std::ptrdiff_t>(variables));
      const ops::ScanResult run = ops::scan(
          [&](const Tensors& now, const Tensors&) {
            const Tensors inputs = joined(now, captures);
            const Tensor go_on = inline_graph(*condition, inputs)[0];
            return ops::cond(
                go_on, [&] { return inline_graph(*body, inputs); }, [&] { return now; });
          },
          start, {}, {.length = limit});
      Tensors targets;
      for (const Tensor& carry : run.carries) {
        if (is_floating(carry.dtype())) targets.push_back(carry);
      }
      const Gradients gradients = tape.gradients(targets, sources, dense_output_gradients(call.outputs(), dy));
      Gradients result(call.inputs().size());
      for (std::size_t i = 0; i < positions.size(); ++i) result[static_cast<std::size_t>(positions[i])] = gradients[i];
      return result;
    });

}  // namespace
}  // namespace cohort
