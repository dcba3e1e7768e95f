#include "cohort/graph/function.h"

#include <mutex>

#include "cohort/core/random.h"
#include "cohort/graph/specialize.h"

namespace cohort {

Results::operator Tensor() const {
  if (size() != 1) {
    throw invalid_argument("Function", "a function of one result is expected here", {{"results", size()}},
                           "Take results by index.");
  }
  return front();
}

struct Function::State {
  struct Trace {
    Specs signature;
    TracedGraph traced;
    std::shared_ptr<ExecutableCache> executables;
  };

  // The trace that accepts these arguments, made if there is none. `mutex` is held.
  const Trace& find(const Specs& arguments) {
    for (const Trace& trace : traces) {
      if (accepts(trace.signature, arguments)) return trace;
    }
    Trace trace;
    trace.signature = options.input_signature.empty() ? relaxed(arguments) : options.input_signature;
    if (!accepts(trace.signature, arguments)) {
      std::string given, wanted;
      for (const TensorSpec& spec : arguments) given += (given.empty() ? "" : ", ") + spec.to_string();
      for (const TensorSpec& spec : trace.signature) wanted += (wanted.empty() ? "" : ", ") + spec.to_string();
      throw invalid_argument(who(), "arguments must fit the input signature",
                             {{"arguments", "(" + given + ")"}, {"input_signature", "(" + wanted + ")"}});
    }
    LocationScope location(where);
    trace.traced = cohort::trace(trace.signature, body);
    trace.executables = std::make_shared<ExecutableCache>(trace.traced.graph, options.passes);
    traces.push_back(std::move(trace));
    return traces.back();
  }

  static bool accepts(const Specs& signature, const Specs& arguments) {
    if (signature.size() != arguments.size()) return false;
    for (std::size_t i = 0; i < signature.size(); ++i) {
      const Shape &wanted = signature[i].shape, &given = arguments[i].shape;
      if (signature[i].dtype != arguments[i].dtype || wanted.rank() != given.rank()) return false;
      for (int axis = 0; axis < wanted.rank(); ++axis) {
        if (wanted[axis] != kUnknown && wanted[axis] != given[axis]) return false;
      }
    }
    return true;
  }

  // Axes in which an earlier trace of the same types and ranks differs become unknown, so that shapes that keep
  // varying do not keep tracing.
  Specs relaxed(const Specs& arguments) const {
    Specs result = arguments;
    for (const Trace& trace : traces) {
      bool same_kind = trace.signature.size() == arguments.size();
      for (std::size_t i = 0; same_kind && i < arguments.size(); ++i) {
        same_kind = trace.signature[i].dtype == arguments[i].dtype &&
                    trace.signature[i].shape.rank() == arguments[i].shape.rank();
      }
      if (!same_kind) continue;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        for (int axis = 0; axis < result[i].shape.rank(); ++axis) {
          if (trace.signature[i].shape[axis] != result[i].shape[axis]) result[i].shape[axis] = kUnknown;
        }
      }
    }
    return result;
  }

  std::string who() const { return options.name.empty() ? "Function" : "Function '" + options.name + "'"; }

  Body body;
  int arity = -1;
  FunctionOptions options;
  std::source_location where;
  std::recursive_mutex mutex;  // a function may call itself while it is traced, as far as that ends
  std::vector<Trace> traces;
};

Function::Function(Body body, int arity, FunctionOptions options, std::source_location where)
    : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  state_->arity = arity;
  state_->options = std::move(options);
  state_->where = where;
}

Results Function::call(const Tensors& arguments) const {
  if (!state_) throw failed_precondition("Function", "a function must be given a body before it is called");
  if (state_->arity >= 0 && static_cast<int>(arguments.size()) != state_->arity) {
    throw invalid_argument(state_->who(), "another number of arguments is expected",
                           {{"arguments", arguments.size()}, {"expected", state_->arity}});
  }
  Specs specs;
  for (const Tensor& argument : arguments) specs.push_back(argument.spec());
  TracedGraph traced;
  std::shared_ptr<ExecutableCache> executables;
  {
    std::lock_guard lock(state_->mutex);
    const State::Trace& trace = state_->find(specs);
    traced = trace.traced;
    executables = trace.executables;
  }
  Tensors inputs = arguments;
  inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
  // A tape or an outer trace must see the call.
  if (top_dispatcher()) return run_op_all("Call", inputs, {{"graph", traced.graph}});
  for (Tensor& input : inputs) input = input.to(default_device());
  Tensors outputs(traced.graph->outputs.size());
  executables->run(inputs, outputs, {.seed = global_seed(), .step = next_op_seed()});
  return outputs;
}

TracedGraph Function::concrete(const Specs& arguments) const {
  std::lock_guard lock(state_->mutex);
  return state_->find(arguments).traced;
}

const Graph& Function::graph() const {
  std::lock_guard lock(state_->mutex);
  if (state_->traces.empty()) {
    throw failed_precondition(state_->who(), "a function has a graph once it was called or given a signature", {},
                              "Call it, or ask concrete(specs).");
  }
  return *state_->traces.back().traced.graph;
}

int Function::trace_count() const {
  std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->traces.size());
}

}  // namespace cohort
