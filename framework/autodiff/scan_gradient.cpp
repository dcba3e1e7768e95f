#include "cohort/autodiff/scan_gradient.h"

#include <algorithm>

#include "cohort/autodiff/subgraphs.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

// The scan that walks back over the turns of another. It carries gradients of the floating carries and sums of those of
// the captures; its sequences are the carries each turn began with, the forward sequences and the gradients of the
// forward results.
class BackwardScan {
 public:
  BackwardScan(const OpCall& call, std::span<const Tensor> output_gradients);
  Gradients run() const;

 private:
  // Where the gradient of an input is among the results of a turn's gradient; -1: it has none.
  int source_position(std::size_t input) const;
  const TensorSpec& output_spec(std::size_t i) const { return body_.spec(body_.outputs[i]); }
  Tensor output_gradient(std::size_t i) const;
  void choose_inputs();
  Tensors carries_before_each_turn() const;
  Tensors first_carries() const;
  Tensors sequences(Tensors carries_before) const;
  Tensors captures() const { return Tensors(inputs_.begin() + offset(layout_.first_capture()), inputs_.end()); }
  TracedGraph trace_turn(const Tensors& carries, const Tensors& sequences, const Tensors& captures) const;
  Tensors turn_gradients(const Tensors& values, std::size_t carries, std::size_t sequences) const;
  Tensors turn(const Tensors& values, std::size_t carries, std::size_t sequences) const;

  const OpCall& call_;
  const std::span<const Tensor> output_gradients_;
  const ScanLayout layout_;
  const Tensors inputs_;
  const Specs specs_;  // of one forward turn
  const Graph body_;
  const GradientGraph step_;
  // Inputs that have a gradient, by kind.
  std::vector<std::size_t> floating_carries_, differentiable_sequences_, summed_captures_;
};

BackwardScan::BackwardScan(const OpCall& call, std::span<const Tensor> output_gradients)
    : call_(call),
      output_gradients_(output_gradients),
      layout_(call),
      inputs_(call.inputs().begin(), call.inputs().end()),
      specs_(turn_specs(call, layout_)),
      body_(without_effects(specialize(*call.attr<GraphPtr>("body"), specs_))),
      step_(gradient_graph(body_, specs_)) {
  choose_inputs();
}

int BackwardScan::source_position(std::size_t input) const {
  const auto found = std::find(step_.sources.begin(), step_.sources.end(), static_cast<int>(input));
  return found == step_.sources.end() ? -1 : static_cast<int>(found - step_.sources.begin());
}

Tensor BackwardScan::output_gradient(std::size_t i) const {
  if (output_gradients_[i].defined()) return output_gradients_[i];
  return run_op("ZerosLike", {call_.output(static_cast<int>(i))});
}

void BackwardScan::choose_inputs() {
  for (std::size_t i = 0; i < layout_.total; ++i) {
    if (i < layout_.carries) {
      if (is_floating(specs_[i].dtype)) floating_carries_.push_back(i);
    } else if (source_position(i) >= 0) {
      (i < layout_.first_capture() ? differentiable_sequences_ : summed_captures_).push_back(i);
    }
  }
}

// Runs the forward scan again, with its carries as further results.
Tensors BackwardScan::carries_before_each_turn() const {
  auto body = std::make_shared<Graph>(body_);
  for (std::size_t i = 0; i < layout_.carries; ++i) body->outputs.push_back({body->inputs[i], 0});
  Attributes attributes = call_.attributes();
  attributes.set("body", AttributeValue(GraphPtr(std::move(body))));
  const Tensors outputs = run_op_all("Scan", inputs_, attributes);
  return Tensors(outputs.begin() + offset(body_.outputs.size()), outputs.end());
}

Tensors BackwardScan::first_carries() const {
  Tensors carries;
  for (std::size_t i : floating_carries_) carries.push_back(output_gradient(i));
  for (std::size_t i : summed_captures_) {
    const TensorSpec& spec = step_.graph->spec(step_.graph->outputs[static_cast<std::size_t>(source_position(i))]);
    carries.push_back(specs_[i].dtype == DType::Resource
                          ? run_op("Fill", {}, {{"shape", spec.shape}, {"dtype", spec.dtype}, {"value", 0.0}})
                          : run_op("ZerosLike", {inputs_[i]}));
  }
  return carries;
}

Tensors BackwardScan::sequences(Tensors carries_before) const {
  Tensors sequences = std::move(carries_before);
  sequences.insert(sequences.end(), inputs_.begin() + offset(layout_.carries),
                   inputs_.begin() + offset(layout_.first_capture()));
  for (std::size_t i = layout_.carries; i < body_.outputs.size(); ++i) {
    if (is_floating(output_spec(i).dtype)) sequences.push_back(output_gradient(i));
  }
  return sequences;
}

TracedGraph BackwardScan::trace_turn(const Tensors& carries, const Tensors& sequences, const Tensors& captures) const {
  Specs specs = specs_of(carries);
  for (const Tensor& sequence : sequences) specs.push_back({sequence.dtype(), sequence.shape().slice(1)});
  for (const Tensor& capture : captures) specs.push_back(capture.spec());
  return trace(specs, [&](const Tensors& values) { return turn(values, carries.size(), sequences.size()); });
}

// The gradients of a forward turn's inputs, in the order of the sources. `values` are a backward turn's arguments.
Tensors BackwardScan::turn_gradients(const Tensors& values, std::size_t carries, std::size_t sequences) const {
  const auto at = [&](std::size_t i) { return values.begin() + offset(i); };
  std::size_t next_carry = 0, next_result = carries + layout_.first_capture();
  Tensors arguments(at(carries), at(next_result));
  arguments.insert(arguments.end(), at(carries + sequences), values.end());
  for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
    if (!is_floating(output_spec(i).dtype)) continue;
    arguments.push_back(i < layout_.carries ? values[next_carry++] : values[next_result++]);
  }
  return inline_graph(*step_.graph, arguments);
}

// The next carries, then the gradients of the sequences' elements.
Tensors BackwardScan::turn(const Tensors& values, std::size_t carries, std::size_t sequences) const {
  const Tensors gradients = turn_gradients(values, carries, sequences);
  const auto gradient_of = [&](std::size_t i) { return gradients[static_cast<std::size_t>(source_position(i))]; };
  Tensors results;
  for (std::size_t i : floating_carries_) {
    results.push_back(source_position(i) >= 0 ? gradient_of(i) : run_op("ZerosLike", {values[results.size()]}));
  }
  for (std::size_t i : summed_captures_) {
    results.push_back(run_op("Add", {values[results.size()], gradient_of(i)}));
  }
  for (std::size_t i : differentiable_sequences_) results.push_back(gradient_of(i));
  return results;
}

Gradients BackwardScan::run() const {
  Tensors carries_before = carries_before_each_turn();
  const Tensors carries = first_carries(), given = sequences(std::move(carries_before)), captured = captures();
  const TracedGraph backward = trace_turn(carries, given, captured);
  const Tensors values = run_op_all("Scan", joined(joined(carries, given), captured),
                                    {{"body", backward.graph},
                                     {"num_carries", static_cast<int>(carries.size())},
                                     {"num_sequences", static_cast<int>(given.size())},
                                     {"reverse", !call_.attr<bool>("reverse")},
                                     {"length", call_.attr<std::int64_t>("length")}});
  Gradients result(layout_.total);
  std::size_t next = 0;
  for (const auto* inputs : {&floating_carries_, &summed_captures_, &differentiable_sequences_}) {
    for (std::size_t i : *inputs) result[i] = values[next++];
  }
  return result;
}

}  // namespace

Gradients scan_gradient(const OpCall& call, std::span<const Tensor> output_gradients) {
  return BackwardScan(call, output_gradients).run();
}

}  // namespace cohort
