#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "cohort/graph/executable.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "tests/support/same_products.h"

namespace cohort::test {

// A function as some passes leave it, which computes what it computed before.
class RewrittenGraph {
 public:
  using Body = std::function<Tensors(const Tensors&)>;

  // Expects results of the same specs, as near as those of `tolerance` are.
  RewrittenGraph(const Tensors& arguments, const Body& body, const std::function<void(Graph&)>& passes, DType tolerance)
      : inputs_(arguments) {
    for (const Tensor& argument : arguments) specs_.push_back(argument.spec());
    traced_ = trace(specs_, body);
    graph_ = specialize(*traced_.graph, specs_);
    passes(graph_);
    const Tensors seen = run(graph_, {}), wanted = run(*traced_.graph, {.fuse = false, .casts = false});
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_same(seen[i], wanted[i], tolerance);
  }

  const Graph& graph() const { return graph_; }
  // How many nodes of an op there are.
  int count(const std::string& op) const { return count_in(graph_, op); }
  // In what all passes of the default device leave.
  int count_compiled(const std::string& op) const {
    return count_in(compile(*traced_.graph, specs_, default_device())->graph(), op);
  }
  // The first of them.
  const Node& node(const std::string& op) const {
    return *std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                         [&](const Node& each) { return each.op->name() == op; });
  }

 private:
  static int count_in(const Graph& graph, const std::string& op) {
    return static_cast<int>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name() == op; }));
  }
  static void expect_same(const Tensor& seen, const Tensor& wanted, DType tolerance) {
    ASSERT_EQ(seen.spec(), wanted.spec());
    expect_same_product(ops::cast(seen, DType::Float64).to_vector<double>(),
                        ops::cast(wanted, DType::Float64).to_vector<double>(), tolerance);
  }
  Tensors run(const Graph& graph, const PassOptions& passes) const {
    Tensors outputs(graph.outputs.size());
    compile(graph, specs_, default_device(), passes)->run(inputs_, outputs, {});
    return outputs;
  }

  Tensors inputs_;
  Specs specs_;
  TracedGraph traced_;
  Graph graph_;
};

}  // namespace cohort::test
