#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/joined_steps.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// What one block of a GPU does in less time than it takes to begin another launch.
constexpr std::int64_t kMostMultiplications = 1 << 16;
constexpr std::int64_t kMostElements = 8192;
// Of all steps together.
constexpr std::size_t kMostSteps = 16;

bool is_real_matrix(const TensorSpec& spec) { return spec.dtype == DType::Float32 && spec.shape.rank() == 2; }

bool is_small_product(const Graph& graph, const Node& node) {
  const bool real = std::all_of(node.inputs.begin(), node.inputs.end(),
                                [&](const Value& input) { return graph.spec(input).dtype == DType::Float32; });
  const TensorSpec &a = graph.spec(node.inputs[0]), &c = node.outputs[0];
  if (!real || !is_real_matrix(a) || !is_real_matrix(graph.spec(node.inputs[1])) || !is_real_matrix(c)) return false;
  const std::int64_t depth = c.shape[0] > 0 ? a.shape.num_elements() / c.shape[0] : 0;
  const bool real_sums = node.outputs.back().dtype == DType::Float32;
  return real_sums && depth <= kMostElements && c.shape.num_elements() <= kMostElements &&
         depth * c.shape.num_elements() <= kMostMultiplications;
}

bool is_small_loss(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [](const TensorSpec& spec) { return spec.dtype == DType::Float32; }) &&
         is_real_matrix(graph.spec(node.inputs[1])) && node.outputs[0].shape.num_elements() <= kMostElements;
}

// Sums of the columns of a matrix.
bool is_small_sum(const Graph& graph, const Node& node) {
  const TensorSpec& x = graph.spec(node.inputs[0]);
  return is_real_matrix(x) && x.shape.num_elements() <= kMostElements &&
         node.outputs[0] == TensorSpec{DType::Float32, {x.shape[1]}};
}

bool is_small_update(const Graph& graph, const Node& node) {
  const UpdateLayout layout(*node.op, node.attributes, static_cast<int>(node.inputs.size()));
  std::int64_t elements = 0;
  for (int i = 0; i < layout.count(); ++i) {
    const TensorSpec& gradient = graph.spec(node.inputs[static_cast<std::size_t>(layout.gradient(i))]);
    if (gradient.dtype != DType::Float32 || gradient.shape.num_elements() > kMostElements) return false;
    elements += gradient.shape.num_elements();
  }
  return !layout.has_squares() && !layout.has_rounded() && elements <= kMostElements;
}

// Whether a node is small and of a kind that a block of a GPU does beside others.
bool is_small_step(const Graph& graph, const Node& node) {
  const std::string& op = node.op->name();
  if (op == "MatMul" || op == "FusedMatMul" || op == "MatMulBiasGrad") return is_small_product(graph, node);
  if (op == "SparseSoftmaxCrossEntropyAndGrad" || op == "SoftmaxCrossEntropyAndGrad") return is_small_loss(graph, node);
  if (op == "SumToLike") return is_small_sum(graph, node);
  if (op == "SGDUpdate" || op == "MomentumUpdate") return is_small_update(graph, node);
  if (op == "AdamUpdate") return !node.attributes.get<bool>("amsgrad", false) && is_small_update(graph, node);
  return op == "AssignAddVariables";  // of which each addition is small
}

// Small nodes that follow each other: they run together where the last of them stands.
using SmallRun = std::vector<int>;

std::vector<SmallRun> find_small_runs(const Graph& graph) {
  std::vector<SmallRun> runs(1);
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (is_input(node) || is_constant(node)) continue;
    SmallRun& run = runs.back();
    // Another shape of what a step makes would have to come before all of them.
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
      return std::find(run.begin(), run.end(), input.node) != run.end();
    });
    if (node.op->is_alias() && !follows) continue;
    const bool small = !node.op->is_alias() && is_small_step(graph, node);
    if (!run.empty() && (!small || run.size() == kMostSteps)) runs.emplace_back();
    if (small) runs.back().push_back(i);
  }
  std::erase_if(runs, [](const SmallRun& run) { return run.size() < 2; });
  return runs;
}

void join_run(Graph& graph, const SmallRun& run, std::vector<bool>& keep) {
  Node joined = graph.nodes[static_cast<std::size_t>(run.back())];
  joined.op = &find_op("JoinedSteps");
  joined.inputs.clear();
  joined.outputs.clear();
  std::vector<Value> made;  // by the steps, in order
  for (int member : run) {
    const Node& node = graph.nodes[static_cast<std::size_t>(member)];
    for (const Value& input : node.inputs) {
      const bool inside = std::find(run.begin(), run.end(), input.node) != run.end();
      const bool known = std::find(joined.inputs.begin(), joined.inputs.end(), input) != joined.inputs.end();
      if (!inside && !known) joined.inputs.push_back(input);
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) made.push_back({member, static_cast<int>(k)});
    joined.outputs.insert(joined.outputs.end(), node.outputs.begin(), node.outputs.end());
  }
  std::vector<JoinedSteps::Step> steps;
  for (int member : run) {
    const Node& node = graph.nodes[static_cast<std::size_t>(member)];
    JoinedSteps::Step step;
    step.op = node.op;
    step.attributes = node.attributes;
    step.name = node.name;
    for (const Value& input : node.inputs) {
      const auto own = std::find(made.begin(), made.end(), input);
      const auto at = own == made.end()
                          ? std::find(joined.inputs.begin(), joined.inputs.end(), input) - joined.inputs.begin()
                          : static_cast<std::ptrdiff_t>(joined.inputs.size()) + (own - made.begin());
      step.inputs.push_back(static_cast<int>(at));
    }
    steps.push_back(std::move(step));
    keep[static_cast<std::size_t>(member)] = member == run.back();
  }
  joined.attributes = JoinedSteps::attributes(steps);
  graph.nodes[static_cast<std::size_t>(run.back())] = std::move(joined);
  // From the last: what a member's value becomes must not be taken for another one's.
  for (std::size_t i = made.size(); i-- > 0;) replace_uses(graph, made[i], {run.back(), static_cast<int>(i)});
}

}  // namespace

void join_small_steps(Graph& graph) {
  std::vector<bool> keep(graph.nodes.size(), true);
  for (const SmallRun& run : find_small_runs(graph)) join_run(graph, run, keep);
  compact(graph, keep);
}

}  // namespace cohort::passes
