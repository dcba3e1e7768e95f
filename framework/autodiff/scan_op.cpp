#include <algorithm>

#include "cohort/autodiff/subgraphs.h"
#include "cohort/autodiff/tape.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

// How a Scan's inputs divide: carries, sequences, captures.
struct ScanLayout {
  std::size_t carries, sequences, total;
  explicit ScanLayout(const OpCall& call)
      : carries(static_cast<std::size_t>(call.attr<int>("num_carries"))),
        sequences(static_cast<std::size_t>(call.attr<int>("num_sequences"))),
        total(static_cast<std::size_t>(call.num_inputs())) {}
  std::size_t captures() const { return total - carries - sequences; }
};

// Specs of one turn: sequences lose their first axis.
Specs turn_specs(const OpCall& call, const ScanLayout& layout) {
  Specs specs;
  for (std::size_t i = 0; i < layout.total; ++i) {
    TensorSpec spec = call.spec(static_cast<int>(i));
    if (i >= layout.carries && i < layout.carries + layout.sequences) {
      call.check(spec.shape.rank() > 0, "a sequence has time as axis 0", {{"sequence", spec}});
      spec.shape = spec.shape.slice(1);
    }
    specs.push_back(spec);
  }
  return specs;
}

Specs infer_scan(const OpCall& call) {
  call.check(call.attr<int>("num_carries") >= 0 && call.attr<int>("num_sequences") >= 0 &&
                 call.attr<std::int64_t>("num_carries") + call.attr<std::int64_t>("num_sequences") <= call.num_inputs(),
             "carries and sequences are inputs",
             {{"num_carries", call.attr<int>("num_carries")}, {"num_sequences", call.attr<int>("num_sequences")}});
  const ScanLayout layout(call);
  call.check(layout.sequences > 0 || call.attr<std::int64_t>("length") >= 0,
             "the number of turns comes from a sequence or from length",
             {{"length", call.attr<std::int64_t>("length")}});
  const Specs specs = turn_specs(call, layout);
  for (std::size_t i = layout.carries; i < layout.carries + layout.sequences; ++i) {
    const std::int64_t first = call.shape(static_cast<int>(layout.carries))[0],
                       own = call.shape(static_cast<int>(i))[0];
    call.check(first == own || first == kUnknown || own == kUnknown, "all sequences have the same length",
               {{"first", first}, {"other", own}});
  }
  const Graph body = specialize(*call.attr<GraphPtr>("body"), specs);
  call.check(body.outputs.size() >= layout.carries, "a turn returns the next carries, then its results",
             {{"returned", body.outputs.size()}, {"carries", layout.carries}});
  const std::int64_t steps =
      layout.sequences > 0 ? call.shape(static_cast<int>(layout.carries))[0] : call.attr<std::int64_t>("length");
  Specs outputs;
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    TensorSpec spec = body.spec(body.outputs[i]);
    if (i < layout.carries) {
      call.check(spec.dtype == specs[i].dtype && spec.shape.compatible(specs[i].shape),
                 "a carry keeps its type and shape", {{"before", specs[i]}, {"after", spec}});
      outputs.push_back(specs[i]);
    } else {
      Shape stacked{steps};
      for (std::int64_t size : spec.shape) stacked.push_back(size);
      outputs.push_back({spec.dtype, stacked});
    }
  }
  return outputs;
}

// The body with its carries as further results: what the backward walk starts each turn from.
GraphPtr with_history(const Graph& body, std::size_t carries) {
  auto graph = std::make_shared<Graph>(body);
  for (std::size_t i = 0; i < carries; ++i) graph->outputs.push_back({graph->inputs[i], 0});
  return graph;
}

Gradients scan_gradient(const OpCall& call, std::span<const Tensor> dy) {
  const ScanLayout layout(call);
  const bool reverse = call.attr<bool>("reverse");
  const Specs specs = turn_specs(call, layout);
  const Graph body = without_effects(specialize(*call.attr<GraphPtr>("body"), specs));
  const GradientGraph step = gradient_graph(body, specs);
  auto source_position = [&](std::size_t input) -> int {
    const auto found = std::find(step.sources.begin(), step.sources.end(), static_cast<int>(input));
    return found == step.sources.end() ? -1 : static_cast<int>(found - step.sources.begin());
  };

  Attributes forward = call.attributes();
  forward.set("body", AttributeValue(with_history(body, layout.carries)));
  const Tensors inputs(call.inputs().begin(), call.inputs().end());
  const Tensors replay = run_op_all("Scan", inputs, forward);
  const auto results = static_cast<std::ptrdiff_t>(body.outputs.size());
  const Tensors history(replay.begin() + results, replay.end());

  // The backward scan carries gradients of the floating carries and sums of those of the captures; its sequences are
  // the history, the forward sequences and the gradients of the forward results.
  std::vector<std::size_t> floating_carries, summed_captures, floating_results;
  for (std::size_t i = 0; i < layout.carries; ++i) {
    if (is_floating(specs[i].dtype)) floating_carries.push_back(i);
  }
  for (std::size_t i = layout.carries + layout.sequences; i < layout.total; ++i) {
    if (source_position(i) >= 0) summed_captures.push_back(i);
  }
  for (std::size_t i = layout.carries; i < body.outputs.size(); ++i) {
    if (is_floating(body.spec(body.outputs[i]).dtype)) floating_results.push_back(i);
  }

  Tensors carries, sequences;
  for (std::size_t i : floating_carries)
    carries.push_back(dy[i].defined() ? dy[i] : run_op("ZerosLike", {call.output(static_cast<int>(i))}));
  for (std::size_t i : summed_captures) {
    const TensorSpec& spec = step.graph->spec(step.graph->outputs[static_cast<std::size_t>(source_position(i))]);
    carries.push_back(specs[i].dtype == DType::Resource
                          ? run_op("Fill", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}, {"value", 0.0}})
                          : run_op("ZerosLike", {inputs[i]}));
  }
  sequences = history;
  sequences.insert(sequences.end(), inputs.begin() + static_cast<std::ptrdiff_t>(layout.carries),
                   inputs.begin() + static_cast<std::ptrdiff_t>(layout.carries + layout.sequences));
  for (std::size_t i : floating_results)
    sequences.push_back(dy[i].defined() ? dy[i] : run_op("ZerosLike", {call.output(static_cast<int>(i))}));
  const Tensors captures(inputs.begin() + static_cast<std::ptrdiff_t>(layout.carries + layout.sequences), inputs.end());

  Specs turn;
  for (const Tensor& carry : carries) turn.push_back(carry.spec());
  for (const Tensor& sequence : sequences) turn.push_back({sequence.dtype(), sequence.shape().slice(1)});
  for (const Tensor& capture : captures) turn.push_back(capture.spec());
  std::vector<std::size_t> differentiable_sequences;
  for (std::size_t i = layout.carries; i < layout.carries + layout.sequences; ++i) {
    if (source_position(i) >= 0) differentiable_sequences.push_back(i);
  }
  const TracedGraph backward = trace(turn, [&](const Tensors& values) {
    const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t first_sequence = carries.size(), first_capture = carries.size() + sequences.size();
    Tensors arguments(at(first_sequence), at(first_sequence + layout.carries + layout.sequences));
    arguments.insert(arguments.end(), at(first_capture), values.end());
    std::size_t next_result = first_sequence + layout.carries + layout.sequences;
    for (std::size_t i = 0, next_carry = 0; i < body.outputs.size(); ++i) {
      if (!is_floating(body.spec(body.outputs[i]).dtype)) continue;
      arguments.push_back(i < layout.carries ? values[next_carry++] : values[next_result++]);
    }
    const Tensors gradients = inline_graph(*step.graph, arguments);
    Tensors out;
    for (std::size_t k = 0; k < floating_carries.size(); ++k) {
      const int position = source_position(floating_carries[k]);
      out.push_back(position >= 0 ? gradients[static_cast<std::size_t>(position)] : run_op("ZerosLike", {values[k]}));
    }
    for (std::size_t k = 0; k < summed_captures.size(); ++k) {
      out.push_back(run_op("Add", {values[floating_carries.size() + k],
                                   gradients[static_cast<std::size_t>(source_position(summed_captures[k]))]}));
    }
    for (std::size_t i : differentiable_sequences)
      out.push_back(gradients[static_cast<std::size_t>(source_position(i))]);
    return out;
  });

  Tensors all = carries;
  all.insert(all.end(), sequences.begin(), sequences.end());
  all.insert(all.end(), captures.begin(), captures.end());
  const Tensors values = run_op_all("Scan", all,
                                    {{"body", backward.graph},
                                     {"num_carries", static_cast<int>(carries.size())},
                                     {"num_sequences", static_cast<int>(sequences.size())},
                                     {"reverse", !reverse},
                                     {"length", call.attr<std::int64_t>("length")}});
  Gradients result(layout.total);
  std::size_t next = 0;
  for (std::size_t i : floating_carries) result[i] = values[next++];
  for (std::size_t i : summed_captures) result[i] = values[next++];
  for (std::size_t i : differentiable_sequences) result[i] = values[next++];
  return result;
}

COHORT_OP("Scan")
    .inputs(0, -1)
    .attr("num_sequences", 0)
    .attr("reverse", false)
    .attr("length", -1)
    .stateful()
    .writes()
    .infer(infer_scan)
    .gradient(scan_gradient);

}  // namespace
}  // namespace cohort
