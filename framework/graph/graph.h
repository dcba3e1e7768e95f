#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/op.h"

namespace cohort {

// Output `output` of node `node`.
struct Value {
  int node = -1;
  int output = 0;
  friend bool operator==(const Value&, const Value&) = default;
  friend auto operator<=>(const Value&, const Value&) = default;
};

// One call of an op in a graph.
struct Node {
  const OpDef* op = nullptr;
  std::vector<Value> inputs;
  Attributes attributes;
  Specs outputs;
  std::string name;      // unique in its graph: "dense/matmul"
  std::string location;  // "file.cpp:42" of the code that made it, where known
  std::string device;    // what the device scopes asked for; empty: anywhere
};

// A program as plain data: nodes in execution order, so every node comes after those it uses. Ops with effects take
// place in that order. Inputs are nodes of op "Input" (arguments first, then captured values), constants of "Constant".
class Graph {
 public:
  std::vector<Node> nodes;
  std::vector<int> inputs;
  std::vector<Value> outputs;

  const TensorSpec& spec(Value value) const {
    return nodes[static_cast<std::size_t>(value.node)].outputs[static_cast<std::size_t>(value.output)];
  }
  Specs input_specs() const;
  // Appends a node whose outputs' specs are inferred; its first output.
  Value add(const OpDef& op, std::vector<Value> inputs, Attributes attributes, std::string name = {});
  // Who uses each node: for each node the list of (user, input position), in order.
  std::vector<std::vector<std::pair<int, int>>> users() const;
  // One line per node, for people: "%3 = MatMul(%1, %2) {transpose_a=true} : float32(None, 512)   # dense/matmul".
  std::string to_string() const;
  // Graphviz.
  std::string to_dot() const;
};

// A constant as the wire sends it: by content, apart from the graph, so that a large one travels once.
struct ConstantTable {
  std::vector<std::pair<std::string, Tensor>> tensors;  // content hash -> value
  const Tensor* find(const std::string& hash) const;
};

// The graph as protobuf bytes; its constants are put into `constants`.
std::string serialize(const Graph& graph, ConstantTable& constants);
// The reverse; every byte is checked before it is believed (ops, arity, shapes, order).
std::shared_ptr<Graph> parse_graph(std::string_view bytes, const ConstantTable& constants);

}  // namespace cohort
