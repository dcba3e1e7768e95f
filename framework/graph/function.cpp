#include "cohort/graph/function.h"

#include <algorithm>
#include <mutex>

#include "cohort/core/device_spec.h"
#include "cohort/core/random.h"
#include "cohort/core/step_draws.h"
#include "cohort/core/text.h"
#include "cohort/graph/bound_captures.h"
#include "cohort/graph/hoist_iterators.h"
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
    DeviceSpec device;                   // of the scopes around it
    std::vector<std::string> resources;  // signatures of the arguments that are resources
    TracedGraph traced;
    std::vector<int> pulls;  // arguments that are iterators, once for each element the function takes
    std::shared_ptr<ExecutableCache> executables;
  };

  // The trace that accepts these arguments, made if there is none. `mutex` is held.
  const Trace& find(const Specs& arguments, const Tensors& examples = {}) {
    std::vector<std::string> resources;
    for (const Tensor& example : examples)
      resources.push_back(example.resource() ? example.resource()->signature() : "");
    const DeviceSpec device = current_device_spec();
    for (const Trace& trace : traces) {
      if (trace.device == device && accepts(trace.signature, arguments) &&
          (examples.empty() || trace.resources == resources))
        return trace;
    }
    Trace trace;
    trace.device = device;
    trace.resources = std::move(resources);
    trace.signature = options.input_signature.empty() ? relaxed(arguments) : options.input_signature;
    if (!accepts(trace.signature, arguments)) {
      const auto text_of = [](const Specs& specs) { return "(" + join(specs, &TensorSpec::to_string) + ")"; };
      throw invalid_argument(who(), "arguments must fit the input signature",
                             {{"arguments", text_of(arguments)}, {"input_signature", text_of(trace.signature)}});
    }
    LocationScope location(where);
    trace.traced = cohort::trace(trace.signature, body, examples);
    auto graph = std::make_shared<Graph>(*trace.traced.graph);
    trace.pulls = hoist_iterators(*graph, trace.traced.num_arguments);
    trace.executables = std::make_shared<ExecutableCache>(graph, options.passes);
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

  std::string who() const { return options.name.empty() ? "Function" : titled("Function", options.name); }

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
  std::vector<int> pulls;
  {
    std::lock_guard lock(state_->mutex);
    const State::Trace& trace = state_->find(specs, arguments);
    traced = trace.traced;
    executables = trace.executables;
    pulls = trace.pulls;
  }
  if (const CaptureBinder* binder = CaptureBinding::current(); binder && current_trace() == 0) {
    if (!top_dispatcher() && pulls.empty()) {
      if (const std::optional<Tensors> results = binder->call(traced, arguments)) return *results;
    }
    for (Tensor& capture : traced.captures) capture = binder->bind(capture);
  }
  Tensors inputs = arguments;
  inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
  // A tape or an outer trace must see what the function does. A trace draws new numbers in each step by itself.
  if (top_dispatcher()) return inline_graph(*traced.graph, inputs, current_trace() ? 0 : next_draw_seed());
  for (int iterator : pulls) {
    const Tensors& element = arguments[static_cast<std::size_t>(iterator)].resource()->next_element();
    inputs.insert(inputs.end(), element.begin(), element.end());
  }
  // On the device of the scope around the call, else where its variables lie, else on the default device.
  Device* scoped = scoped_local_device();
  Device* device = scoped ? scoped : &default_device();
  for (const Tensor& capture : traced.captures) {
    if (scoped) break;
    if (capture.resource() && !capture.resource()->owner() &&
        std::string_view(capture.resource()->kind()) == "Variable") {
      device = &capture.resource()->shared_value().device();
      break;
    }
  }
  for (Tensor& input : inputs) input = input.to(*device);
  Tensors outputs(traced.graph->outputs.size());
  const RandomState random{.seed = global_seed(), .step = next_draw_seed()};
  const auto run = [&] { executables->run(inputs, outputs, random, *device); };
  if (const CaptureBinder* binder = CaptureBinding::current()) {
    binder->compute(run);
  } else {
    run();
  }
  return outputs;
}

TracedGraph Function::concrete(const Specs& arguments) const {
  std::lock_guard lock(state_->mutex);
  return state_->find(arguments).traced;
}

TracedGraph Function::concrete(const Tensors& examples) const {
  Specs specs;
  for (const Tensor& example : examples) specs.push_back(example.spec());
  std::lock_guard lock(state_->mutex);
  return state_->find(specs, examples).traced;
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
