#include "cohort/graph/passes/memory.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/device.h"
#include "cohort/core/kernel_work.h"
#include "cohort/core/work_halves.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// A block of the arena: one value, or several that succeed each other in place.
struct Block {
  std::size_t bytes = 0;
  int first = 0;  // node that writes it first
  int last = 0;   // node that reads it last
  std::size_t offset = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, bool share, bool lasting) : graph_(graph), share_(share) {
    plan_.locations.resize(graph.nodes.size());
    block_.resize(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      plan_.locations[i].resize(graph.nodes[i].outputs.size());
      block_[i].assign(graph.nodes[i].outputs.size(), -1);
    }
    find_last_uses();
    if (lasting) find_lasting();
  }

  MemoryPlan plan() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      location({graph_.inputs[i], 0}) = {Location::Kind::Input, 0, static_cast<int>(i)};
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) place(static_cast<int>(i));
    assign_offsets();
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Location& source = location(graph_.outputs[i]);
      const bool in_place = source.kind == Location::Kind::Output && source.slot == static_cast<int>(i);
      if (!in_place) plan_.output_copies.emplace_back(static_cast<int>(i), source);
    }
    return std::move(plan_);
  }

 private:
  Location& location(Value value) {
    return plan_.locations[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }
  int& block(Value value) {
    return block_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }

  // The value whose memory a value is, one step towards the one that has memory of its own; itself where it has.
  Value source(Value value) const {
    const Node& node = graph_.nodes[static_cast<std::size_t>(value.node)];
    if (node.op->is_alias()) return node.inputs[0];
    if (WorkHalves::ends(*node.op)) return node.inputs[static_cast<std::size_t>(WorkHalves::input_of(value.output))];
    return value;
  }
  // Through aliases to the value whose memory is used.
  Value root(Value value) const {
    for (Value from = source(value); from != value; from = source(value)) value = from;
    return value;
  }

  void find_last_uses() {
    last_use_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      last_use_[i].assign(graph_.nodes[i].outputs.size(), static_cast<int>(i));
    auto use = [&](Value value, int node) {
      const Value r = root(value);
      int& last = last_use_[static_cast<std::size_t>(r.node)][static_cast<std::size_t>(r.output)];
      last = std::max(last, node);
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.op->is_alias()) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (!looks_at_shape_only(*node.op, static_cast<int>(k))) use(node.inputs[k], static_cast<int>(i));
      }
    }
    for (const Value& output : graph_.outputs) use(output, static_cast<int>(graph_.nodes.size()));
  }

  // Those that would live through most of a run anyway: there is little memory to be lost.
  void find_lasting() {
    const auto count = static_cast<int>(graph_.nodes.size());
    for (int i = 0; i < count; ++i) {
      if (!comes_from_inputs(i)) continue;
      int& last = last_use_[static_cast<std::size_t>(i)][0];
      if (last < count / 2 || last == count) continue;
      last = count;
      plan_.lasting.push_back(i);
    }
  }
  bool comes_from_inputs(int node) const {
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    if (!n.op->is_elementwise() || n.outputs.size() != 1) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](const Value& input) {
      const Node& from = graph_.nodes[static_cast<std::size_t>(root(input).node)];
      return is_constant(from) || (is_input(from) && from.outputs[0].dtype != DType::Resource);
    });
  }

  void place(int node) {
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    if (is_input(n)) return;
    if (is_constant(n)) {
      location({node, 0}) = {Location::Kind::Constant, 0, node};
      return;
    }
    for (int k = 0; k < static_cast<int>(n.outputs.size()); ++k) {
      const Value value{node, k}, from = source(value);
      if (from == value) {
        place_output(n, value);
      } else {
        location(value) = location(from);
        block(value) = block(from);
      }
    }
  }

  void place_output(const Node& node, Value value) {
    // A result of the whole graph is written straight into the caller's memory.
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (graph_.outputs[i] == value) {
        location(value) = {Location::Kind::Output, 0, static_cast<int>(i)};
        return;
      }
    }
    const std::size_t bytes =
        aligned(static_cast<std::size_t>(graph_.spec(value).shape.num_elements()) * size_of(graph_.spec(value).dtype));
    const int last = last_use_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
    location(value).kind = Location::Kind::Arena;
    if (share_) {
      if (const int reused = block_to_overwrite(node, value); reused >= 0) {
        block(value) = reused;
        blocks_[static_cast<std::size_t>(reused)].last = last;
        return;
      }
    }
    block(value) = static_cast<int>(blocks_.size());
    const bool lasts = std::find(plan_.lasting.begin(), plan_.lasting.end(), value.node) != plan_.lasting.end();
    blocks_.push_back({bytes, lasts ? 0 : value.node, last, 0});
  }

  // The block of an input that dies in this node, which may write over it, and has the output's very shape.
  int block_to_overwrite(const Node& node, Value value) {
    const bool begins = WorkHalves::begins(*node.op);
    // Another output's elements may still need an element of the input when an elementwise op has written to its place.
    if (!begins && (value.output != 0 || (node.op->is_elementwise() && node.outputs.size() != 1))) return -1;
    const TensorSpec& spec = graph_.spec(value);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int input_number = static_cast<int>(i);
      if (begins ? input_number != WorkHalves::input_of(value.output) : !node.op->overwrites(input_number)) continue;
      const Value& input = node.inputs[i];
      const Value r = root(input);
      if (graph_.spec(input).shape != spec.shape || size_of(graph_.spec(input).dtype) != size_of(spec.dtype)) continue;
      if (block(r) < 0 || last_use_[static_cast<std::size_t>(r.node)][static_cast<std::size_t>(r.output)] != value.node)
        continue;
      if (blocks_[static_cast<std::size_t>(block(r))].last != value.node || is_taken(block(r), value)) continue;
      // The same memory read under another shape (broadcast) would be overwritten too early.
      const bool elsewhere = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& other) {
        return block(root(other)) == block(r) && graph_.spec(other).shape != spec.shape;
      });
      if (!elsewhere) return block(r);
    }
    return -1;
  }

  // Whether an output before this one of the same node lies there.
  bool is_taken(int place, Value value) {
    for (int k = 0; k < value.output; ++k) {
      if (block({value.node, k}) == place) return true;
    }
    return false;
  }

  // Largest first, each at the lowest offset free during its life.
  void assign_offsets() {
    std::vector<std::size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return blocks_[a].bytes > blocks_[b].bytes; });
    std::vector<std::size_t> placed;
    for (std::size_t index : order) {
      Block& block = blocks_[index];
      std::vector<std::size_t> rivals;
      for (std::size_t other : placed) {
        if (!share_ || (blocks_[other].first <= block.last && block.first <= blocks_[other].last))
          rivals.push_back(other);
      }
      std::sort(rivals.begin(), rivals.end(),
                [&](std::size_t a, std::size_t b) { return blocks_[a].offset < blocks_[b].offset; });
      std::size_t offset = 0;
      for (std::size_t rival : rivals) {
        if (offset + block.bytes <= blocks_[rival].offset) break;
        offset = std::max(offset, blocks_[rival].offset + blocks_[rival].bytes);
      }
      block.offset = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + block.bytes);
      placed.push_back(index);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (std::size_t k = 0; k < block_[i].size(); ++k) {
        if (block_[i][k] >= 0) plan_.locations[i][k].offset = blocks_[static_cast<std::size_t>(block_[i][k])].offset;
      }
    }
  }

  static std::size_t aligned(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + Device::kAlignment - 1) / Device::kAlignment * Device::kAlignment;
  }

  const Graph& graph_;
  bool share_;
  MemoryPlan plan_;
  std::vector<std::vector<int>> block_, last_use_;
  std::vector<Block> blocks_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, bool share, bool lasting) { return Planner(graph, share, lasting).plan(); }

}  // namespace cohort::passes
