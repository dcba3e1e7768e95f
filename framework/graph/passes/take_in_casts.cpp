#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Which inputs a kernel can read, and whether it can write its first output, in other types than it computes in.
struct Ability {
  std::string_view op;
  bool in_half;  // it computes in a half type and takes float32; else the other way round
  unsigned inputs;
  bool output;
};

constexpr unsigned input_bits(std::initializer_list<int> inputs) {
  unsigned bits = 0;
  for (int input : inputs) bits |= 1u << input;
  return bits;
}

constexpr std::array kCpuProducts = {
    Ability{"MatMul", true, input_bits({0, 1}), true},
    Ability{"FusedMatMul", true, input_bits({0, 1, 2}), true},
};
// A GPU's matrix units read half types only: a weight is cast once for all products that read it.
constexpr std::array kGpuProducts = {
    Ability{"MatMul", true, 0, true},
    Ability{"FusedMatMul", true, 0, true},
};
constexpr std::array kAbilities = {
    Ability{"SumToLike", true, 0, true},
    Ability{"Gather", false, 0, true},
    Ability{"LayerNorm", false, input_bits({0}), true},
    Ability{"LayerNormGrad", false, input_bits({0, 1}), true},
    Ability{"SoftmaxCrossEntropy", false, input_bits({0}), false},
    Ability{"SoftmaxCrossEntropyGrad", false, input_bits({1}), true},
    Ability{"SparseSoftmaxCrossEntropy", false, input_bits({0}), false},
    Ability{"SparseSoftmaxCrossEntropyGrad", false, 0, true},
};

// Whether input i of a node is the gradient of an update that can read half types.
bool is_readable_gradient(const Node& node, int i) {
  if (!UpdateLayout::describes(*node.op) || !UpdateLayout::rounds(*node.op)) return false;
  const UpdateLayout at(*node.op, node.attributes, static_cast<int>(node.inputs.size()));
  return at.count() == 1 && !at.has_squares() && i == at.gradient(0);
}

// Of the input only the shape is looked at, whatever its type.
bool only_shape_counts(const Node& node, int input) {
  const std::string& op = node.op->name();
  return input == 1 && (op == "SumToLike" || op == "ReshapeLike" || op == "BroadcastLike" || op == "UnmergeAxis");
}

class CastTaking {
 public:
  CastTaking(Graph& graph, std::span<const Ability> products, bool updates_read_halves)
      : graph_(graph),
        products_(products),
        updates_read_halves_(updates_read_halves),
        users_(graph.users()),
        keep_(graph.nodes.size(), true) {}

  // Where a cast can go either way, what lies in memory becomes the half type.
  void run() {
    const auto narrows = [&](int cast) { return is_half(target(cast)); };
    for_each_cast([&](int cast) { return narrows(cast) && into_producer(cast); });
    for_each_cast([&](int cast) { return !narrows(cast) && into_readers(cast); });
    for_each_cast([&](int cast) { return !narrows(cast) && into_producer(cast); });
    for_each_cast([&](int cast) { return narrows(cast) && into_readers(cast); });
    compact(graph_, keep_);
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  DType target(int cast) const { return node(cast).outputs[0].dtype; }
  DType source(int cast) const { return graph_.spec(node(cast).inputs[0]).dtype; }

  template <class Take>
  void for_each_cast(const Take& take) {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (!keep_[static_cast<std::size_t>(i)] || node(i).op->name() != "Cast") continue;
      if (source(i) == target(i) || !(widens_to(source(i), target(i)) || rounds_to(source(i), target(i)))) continue;
      if (take(i)) remove(i);
    }
  }

  bool leaves_graph(const Value& value) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), value) != graph_.outputs.end();
  }

  DType computed_by(const Node& n) const {
    return n.attributes.has(kComputeType) ? n.attributes.get<DType>(kComputeType) : n.outputs[0].dtype;
  }
  // The ability of a node that computes in this type, nullptr when it has none.
  const Ability* ability_of(const Node& n, DType computed) const {
    for (std::span<const Ability> abilities : {products_, std::span<const Ability>(kAbilities)}) {
      for (const Ability& ability : abilities) {
        if (ability.op != n.op->name()) continue;
        return computed_by(n) == computed && ability.in_half == is_half(computed) ? &ability : nullptr;
      }
    }
    return nullptr;
  }
  bool can_write(const Node& n, DType computed) const {
    const Ability* ability = ability_of(n, computed);
    // Rows of a product are finished in the type it computes in.
    const bool finished = n.op->name() == "FusedMatMul" &&
                          (n.inputs.size() > 2 || !n.attributes.get<std::string>("activation", std::string()).empty());
    return ability && ability->output && !finished;
  }

  // Whether one cast, under whatever shape in between, is all that looks at a value.
  bool has_one_reader(const Value& value) const {
    int readers = 0;
    for (const auto& [user, position] : users_[static_cast<std::size_t>(value.node)]) {
      const Node& reader = node(user);
      if (reader.inputs[static_cast<std::size_t>(position)] == value && !only_shape_counts(reader, position)) ++readers;
    }
    return readers == 1 && !leaves_graph(value);
  }

  bool into_producer(int cast) {
    std::vector<int> shapes;
    Value made = node(cast).inputs[0];
    while (has_one_reader(made) && node(made.node).op->is_alias()) {
      shapes.push_back(made.node);
      made = node(made.node).inputs[0];
    }
    if (made.output != 0 || !has_one_reader(made) || !can_write(node(made.node), source(cast))) return false;
    say_types(node(made.node), source(cast));
    node(made.node).attributes.set(kResultType, AttributeValue(target(cast)));
    node(made.node).outputs[0].dtype = target(cast);
    for (int shape : shapes) node(shape).outputs[0].dtype = target(cast);
    return true;
  }

  bool into_readers(int cast) {
    // What is computed element by element takes the cast in itself.
    if (is_half(target(cast)) && node(node(cast).inputs[0].node).op->is_elementwise()) return false;
    std::vector<int> shapes, readers;
    if (!all_read({cast, 0}, target(cast), shapes, readers)) return false;
    // Sums are made in float32: to write them so costs next to nothing.
    const auto is_update = [&](int reader) { return UpdateLayout::describes(*node(reader).op); };
    if (is_sum(node(cast).inputs[0]) && std::any_of(readers.begin(), readers.end(), is_update)) return false;
    for (int shape : shapes) node(shape).outputs[0].dtype = source(cast);
    for (int reader : readers) say_types(node(reader), target(cast));
    return true;
  }
  // Whether all readers of a value, under whatever shape, compute in this type but can read others.
  bool all_read(const Value& value, DType computed, std::vector<int>& shapes, std::vector<int>& readers) const {
    if (leaves_graph(value)) return false;
    for (const auto& [user, position] : users_[static_cast<std::size_t>(value.node)]) {
      const Node& reader = node(user);
      if (reader.inputs[static_cast<std::size_t>(position)] != value || only_shape_counts(reader, position)) continue;
      if (reader.op->is_alias() && position == 0) {
        shapes.push_back(user);
        if (!all_read({user, 0}, computed, shapes, readers)) return false;
        continue;
      }
      if (!can_read(reader, position, computed)) return false;
      readers.push_back(user);
    }
    return true;
  }
  bool can_read(const Node& reader, int position, DType computed) const {
    if (updates_read_halves_ && is_readable_gradient(reader, position)) return computed == DType::Float32;
    const Ability* ability = ability_of(reader, computed);
    return ability && (ability->inputs >> position & 1u);
  }

  // The node no longer shows by its types what it computes in.
  void say_types(Node& n, DType computed) {
    n.attributes.set(kComputeType, AttributeValue(computed));
    if (n.op->name() == "MatMul") n.op = &find_op("FusedMatMul");
  }

  // Whether a value, in whatever shape, is a sum.
  bool is_sum(Value value) const {
    while (node(value.node).op->is_alias()) value = node(value.node).inputs[0];
    return node(value.node).op->name() == "SumToLike";
  }

  // Readers of the cast read what it read.
  void remove(int cast) {
    const Value from = node(cast).inputs[0];
    auto &gained = users_[static_cast<std::size_t>(from.node)], &lost = users_[static_cast<std::size_t>(cast)];
    std::erase(gained, std::pair<int, int>{cast, 0});
    for (const auto& [user, position] : lost) node(user).inputs[static_cast<std::size_t>(position)] = from;
    gained.insert(gained.end(), lost.begin(), lost.end());
    lost.clear();
    for (Value& output : graph_.outputs) {
      if (output == Value{cast, 0}) output = from;
    }
    keep_[static_cast<std::size_t>(cast)] = false;
  }

  Graph& graph_;
  std::span<const Ability> products_;
  bool updates_read_halves_;
  std::vector<std::vector<std::pair<int, int>>> users_;
  std::vector<bool> keep_;
};

}  // namespace

void take_in_casts(Graph& graph, std::string_view kernel_type) {
  const bool cpu = kernel_type == kCPU;
  // A CPU's products keep what they have added up for updates; a GPU waits for memory, of which half is left this way.
  CastTaking(graph, cpu ? std::span<const Ability>(kCpuProducts) : kGpuProducts, !cpu).run();
}

}  // namespace cohort::passes
