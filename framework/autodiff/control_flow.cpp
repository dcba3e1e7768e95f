#include "cohort/autodiff/control_flow.h"

#include <algorithm>

#include "cohort/autodiff/subgraphs.h"
#include "cohort/autodiff/tape.h"

namespace cohort {
namespace {

void check_count(const char* who, const char* expected, std::size_t seen, std::size_t wanted) {
  if (seen != wanted) throw invalid_argument(who, expected, {{"seen", seen}, {"expected", wanted}});
}

Tensor slice_at(const Tensor& sequence, std::int64_t t) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(sequence.rank()), 0);
  std::vector<std::int64_t> size(begin.size(), -1);
  begin[0] = t;
  size[0] = 1;
  const Tensor row = run_op("Slice", {sequence}, {{"begin", begin}, {"size", size}});
  return run_op("Squeeze", {row}, {{"axes", std::vector<std::int64_t>{0}}});
}

}  // namespace

Tensor custom_gradient(const std::function<std::pair<Tensor, CustomGradient>(const Tensors&)>& forward,
                       const Tensors& inputs) {
  Specs arguments = specs_of(inputs);
  const TracedGraph value = trace(arguments, [&](const Tensors& x) { return Tensors{forward(x).first}; });
  arguments.push_back(value.graph->spec(value.graph->outputs[0]));
  const TracedGraph gradient = trace(arguments, [&](const Tensors& all) {
    const Tensors gradients = forward({all.begin(), all.end() - 1}).second(all.back());
    if (gradients.size() != inputs.size()) {
      throw invalid_argument("custom_gradient", "a gradient for each input is expected",
                             {{"gradients", gradients.size()}, {"inputs", inputs.size()}});
    }
    return gradients;
  });
  // The backward graph takes inputs, captures, dy: the op appends dy last.
  AlignedGraphs graphs = align_captures({value, gradient});
  auto backward = std::make_shared<Graph>(*graphs.graphs[1]);
  const auto dy = backward->inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size());
  std::rotate(dy, dy + 1, backward->inputs.end());
  std::vector<std::int64_t> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) sources.push_back(static_cast<std::int64_t>(i));
  return run_op("CustomGradient", joined(inputs, graphs.captures),
                {{"forward", graphs.graphs[0]}, {"backward", GraphPtr(backward)}, {"sources", sources}});
}

namespace ops {

Tensors cond(const Tensor& predicate, const std::function<Tensors()>& then_branch,
             const std::function<Tensors()>& else_branch) {
  if (!current_trace()) return predicate.item<bool>() ? then_branch() : else_branch();
  const TracedGraph yes = trace({}, [&](const Tensors&) { return then_branch(); });
  const TracedGraph no = trace({}, [&](const Tensors&) { return else_branch(); });
  const AlignedGraphs graphs = align_captures({yes, no});
  return run_op_all("Cond", joined(Tensors{predicate}, graphs.captures),
                    {{"then", graphs.graphs[0]}, {"else", graphs.graphs[1]}});
}

Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& variables, WhileOptions options) {
  if (!current_trace()) {
    Tensors now = variables;
    for (std::int64_t turn = 0; options.maximum_iterations < 0 || turn < options.maximum_iterations; ++turn) {
      if (!condition(now).item<bool>()) break;
      now = body(now);
      check_count("while_loop", "the body returns as many tensors as there are loop variables", now.size(),
                  variables.size());
    }
    return now;
  }
  const TracedGraph test = trace(specs_of(variables), [&](const Tensors& now) { return Tensors{condition(now)}; });
  const TracedGraph turn = trace(specs_of(variables), body);
  const AlignedGraphs graphs = align_captures({test, turn});
  return run_op_all("While", joined(variables, graphs.captures),
                    {{"condition", graphs.graphs[0]},
                     {"body", graphs.graphs[1]},
                     {"maximum_iterations", options.maximum_iterations},
                     {"num_variables", static_cast<int>(variables.size())}});
}

ScanResult scan(const std::function<Tensors(const Tensors& carries, const Tensors& slices)>& body,
                const Tensors& carries, const Tensors& sequences, ScanOptions options) {
  if (sequences.empty() && options.length < 0) {
    throw invalid_argument("scan", "the number of turns comes from a sequence or from length",
                           {{"length", options.length}});
  }
  ScanResult result;
  if (!current_trace()) {
    const std::int64_t steps = sequences.empty() ? options.length : sequences[0].shape().dim(0);
    for (const Tensor& sequence : sequences) {
      check_count("scan", "all sequences have the same length", static_cast<std::size_t>(sequence.shape().dim(0)),
                  static_cast<std::size_t>(steps));
    }
    result.carries = carries;
    std::vector<Tensors> rows(static_cast<std::size_t>(steps));
    for (std::int64_t turn = 0; turn < steps; ++turn) {
      const std::int64_t t = options.reverse ? steps - 1 - turn : turn;
      Tensors slices;
      for (const Tensor& sequence : sequences) slices.push_back(slice_at(sequence, t));
      Tensors out = body(result.carries, slices);
      check_count("scan", "a turn returns the next carries, then its results", std::min(out.size(), carries.size()),
                  carries.size());
      result.carries.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(carries.size()));
      rows[static_cast<std::size_t>(t)].assign(out.begin() + static_cast<std::ptrdiff_t>(carries.size()), out.end());
    }
    for (std::size_t i = 0; steps > 0 && i < rows[0].size(); ++i) {
      Tensors column;
      for (const Tensors& row : rows) column.push_back(row[i]);
      result.sequences.push_back(run_op("Stack", column, {{"axis", 0}}));
    }
    return result;
  }
  Specs specs = specs_of(carries);
  for (const Tensor& sequence : sequences) specs.push_back({sequence.dtype(), sequence.shape().slice(1)});
  const TracedGraph turn = trace(specs, [&](const Tensors& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(carries.size());
    return body({values.begin(), middle}, {middle, values.end()});
  });
  const Tensors outputs = run_op_all("Scan", joined(joined(carries, sequences), turn.captures),
                                     {{"body", turn.graph},
                                      {"num_carries", static_cast<int>(carries.size())},
                                      {"num_sequences", static_cast<int>(sequences.size())},
                                      {"reverse", options.reverse},
                                      {"length", options.length}});
  const auto middle = outputs.begin() + static_cast<std::ptrdiff_t>(carries.size());
  result.carries.assign(outputs.begin(), middle);
  result.sequences.assign(middle, outputs.end());
  return result;
}

}  // namespace ops
}  // namespace cohort
