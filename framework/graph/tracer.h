#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/core/dispatch.h"
#include "cohort/core/masks.h"
#include "cohort/graph/trace.h"

namespace cohort {

// Builds a graph: while one of its scopes is the innermost dispatcher of a thread, every op that is called becomes a
// node. Scopes may come one after the other, so a graph may grow for as long as its tracer lives. Not thread-safe.
class Tracer : public Dispatcher {
 public:
  Tracer() = default;

  // While it lives, its thread's ops go into the graph.
  class Scope {
   public:
    explicit Scope(Tracer& tracer) : trace_(tracer.id_), innermost_(&tracer), dispatcher_(tracer) {}

   private:
    friend class Tracer;
    using Innermost = ThreadScope<Tracer, Tracer*>;
    const TraceScope trace_;
    const Innermost innermost_;
    const DispatcherScope dispatcher_;
    const MaskScope masks_;
  };

  // A further argument of the graph. That of a resource may refer to an example of what it will be.
  Tensor add_argument(const TensorSpec& spec, std::shared_ptr<Resource> example = nullptr);
  // The same under a name that no node has.
  Tensor add_argument(const TensorSpec& spec, const std::string& name);
  // A node of its own for a value, where the device scopes say.
  Tensor add_constant(const Tensor& value);
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override;

  // Whether the symbol is one of this graph's.
  bool made(const Tensor& tensor) const { return tensor.is_symbolic() && tensor.traced_value().trace == id_; }
  // The graph so far, without inputs and outputs.
  const Graph& graph() const { return *graph_; }
  const Tensors& arguments() const { return arguments_; }
  // What it has captured so far, and the nodes that stand for it.
  const Tensors& captures() const { return captures_; }
  const std::vector<int>& capture_nodes() const { return capture_nodes_; }
  // The graph of these outputs; nothing may be added to it afterwards.
  TracedGraph finish(const Tensors& outputs);
  // "scope/mat_mul_1": unique in this graph, with the name scopes of this thread.
  std::string unique_name(const std::string& name);

 private:
  Tensors append(const OpDef& op, std::vector<Value> inputs, const Attributes& attributes);
  Tensor add_input(const TensorSpec& spec, const std::string& name, std::shared_ptr<Resource> example = nullptr);
  Value value_of(const Tensor& tensor);
  void check_enclosing(const Tensor& tensor) const;

  static std::uint64_t next_id();
  const std::uint64_t id_ = next_id();
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Tensors arguments_, captures_, kept_;
  std::vector<int> capture_nodes_;
  std::unordered_map<const void*, Value> outer_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace cohort
