#include <algorithm>
#include <string>
#include <vector>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Of a value that one thread adds up as fast as several would begin to.
constexpr std::int64_t kMostAdded = 4096;

// What is added to a variable: `factor` times a value, or times its sum or mean.
struct VariableAddition {
  Value variable, value;
  double factor = 1;
  std::string reduction = {};
};

// Additions that one node at `place` does.
struct JoinedAdditions {
  int place = 0;
  std::vector<VariableAddition> additions;
};

bool is_real(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

bool is_small_addition(const Graph& graph, const Node& node) {
  const std::string& op = node.op->name();
  if (op != "AssignAddVariable" && op != "AssignSubVariable") return false;
  const TensorSpec& value = graph.spec(node.inputs[1]);
  return (is_real(value.dtype) || value.dtype == DType::Int32 || value.dtype == DType::Int64) &&
         value.shape == node.attributes.get<Shape>("shape") && value.shape.num_elements() <= kMostAdded;
}

// Takes what comes before additions into them. What it took then looks at its input later than it did, which must not
// be a variable: that may have changed.
class AdditionReader {
 public:
  explicit AdditionReader(const Graph& graph) : graph_(graph), users_(graph.users()) {}

  VariableAddition read(int at) const {
    const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    VariableAddition addition{node.inputs[0], node.inputs[1]};
    if (is_real(graph_.spec(addition.value).dtype)) {
      if (take_factor(addition, at)) at = node.inputs[1].node;
      take_reduction(addition, at);
    }
    if (node.op->name() == "AssignSubVariable") addition.factor = -addition.factor;
    return addition;
  }

 private:
  bool can_take(const Value& made, int reader, const Value& instead) const {
    return only_user(graph_, users_, made.node) == reader && resource_behind(graph_, instead) < 0;
  }

  // A product with a constant.
  bool take_factor(VariableAddition& addition, int reader) const {
    const Value made = addition.value;
    const Node& product = graph_.nodes[static_cast<std::size_t>(made.node)];
    if (product.op->name() != "Multiply") return false;
    for (int side : {0, 1}) {
      const Value &factor = product.inputs[static_cast<std::size_t>(side)],
                  &other = product.inputs[static_cast<std::size_t>(1 - side)];
      const Node& constant = graph_.nodes[static_cast<std::size_t>(factor.node)];
      if (!is_constant(constant) || graph_.spec(factor).shape.num_elements() != 1) continue;
      if (graph_.spec(other) != product.outputs[0] || !can_take(made, reader, other)) continue;
      addition.value = other;
      addition.factor = constant.attributes.get<Tensor>("value").to_vector<double>()[0];
      return true;
    }
    return false;
  }

  // The sum or mean of all there is.
  void take_reduction(VariableAddition& addition, int reader) const {
    const Node& reduction = graph_.nodes[static_cast<std::size_t>(addition.value.node)];
    if (reduction.op->name() != "Sum" && reduction.op->name() != "Mean") return;
    const TensorSpec& values = graph_.spec(reduction.inputs[0]);
    if (reduction.outputs[0].shape.rank() != 0 || values.dtype != reduction.outputs[0].dtype) return;
    if (values.shape.num_elements() > kMostAdded || !can_take(addition.value, reader, reduction.inputs[0])) return;
    addition.value = reduction.inputs[0];
    addition.reduction = reduction.op->name();
  }

  const Graph& graph_;
  const std::vector<std::vector<std::pair<int, int>>> users_;
};

// Makes a node do these additions.
void write_additions(Node& node, const std::vector<VariableAddition>& additions) {
  std::vector<double> factors;
  std::vector<std::string> reductions;
  node.inputs.clear();
  for (const VariableAddition& addition : additions) node.inputs.push_back(addition.variable);
  for (const VariableAddition& addition : additions) {
    node.inputs.push_back(addition.value);
    factors.push_back(addition.factor);
    reductions.push_back(addition.reduction);
  }
  node.op = &find_op("AssignAddVariables");
  node.attributes = {{"factors", factors}, {"reductions", reductions}};
}

}  // namespace

void join_additions(Graph& graph) {
  const AdditionReader reader(graph);
  std::vector<JoinedAdditions> joined;
  std::vector<bool> keep(graph.nodes.size(), true);
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (!is_small_addition(graph, node)) continue;
    const VariableAddition addition = reader.read(i);
    const bool takes = addition.value != node.inputs[1];
    const auto found = std::find_if(joined.begin(), joined.end(), [&](const JoinedAdditions& other) {
      return may_move_write(graph, other.place, i);
    });
    if (found == joined.end()) {
      joined.push_back({i, {addition}});
      if (takes) write_additions(node, {addition});
      continue;
    }
    // They take place at the last of them: all values are there by then.
    keep[static_cast<std::size_t>(found->place)] = false;
    found->place = i;
    found->additions.push_back(addition);
    write_additions(node, found->additions);
  }
  compact(graph, keep);
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
