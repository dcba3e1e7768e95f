#pragma once

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/dispatch.h"
#include "cohort/graph/graph.h"

namespace cohort {

// A graph and what it captured from its surroundings: the values to bind to its inputs after the arguments. A captured
// value is a resource, or a symbol of an enclosing trace; a captured concrete tensor became a constant.
struct TracedGraph {
  // The graph: its inputs are the arguments, then the captures.
  std::shared_ptr<const Graph> graph;
  // The captured values, in the order of the inputs they are bound to.
  Tensors captures;
  // How many of the graph's inputs are arguments.
  int num_arguments = 0;
};

// Runs `body` once on symbols of the given specs and returns the graph of what it did. `examples`, where given, are the
// arguments of the call that asked for the trace: symbols of resources refer to theirs.
TracedGraph trace(const Specs& arguments, const std::function<Tensors(const Tensors&)>& body,
                  const Tensors& examples = {});

// Prefixes the names of nodes made while it lives: layers push their own name. Thread-local, nested.
class NameScope {
 public:
  explicit NameScope(const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  // "sequential/dense", empty outside every scope.
  static std::string_view current();

 private:
  using First = ThreadScope<NameScope, std::size_t>;
  First first_;  // where this name, with those of the scopes around it, begins
  std::size_t length_before_;
};

// Remembers in nodes and errors where in the user's program they come from.
using LocationScope = ThreadScope<struct LocationTag, std::source_location>;

// Leaves every trace and tape for the lifetime of the scope: ops run at once. Variables are made inside one.
class EagerScope : private Dispatcher {
 public:
  EagerScope() : dispatcher_(*this), no_trace_(0) {}

 private:
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override;
  DispatcherScope dispatcher_;
  TraceScope no_trace_;
};

// Replays a graph's nodes through the dispatcher stack: eagerly, onto a tape, or into an enclosing trace. A graph fixes
// the seeds of its random ops; another `salt` makes them draw other numbers, in the forward and backward pass alike.
Tensors inline_graph(const Graph& graph, const Tensors& inputs, std::uint64_t salt = 0);

}  // namespace cohort
