#pragma once

#include <source_location>
#include <span>

#include "cohort/core/op.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

// Decides what an op call does: run now, be recorded on a tape, become a node of a graph. Dispatchers form a stack per
// thread; the top one is asked first and may pass the call on to the one below it.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  virtual Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) = 0;

 protected:
  // Hands the call to the dispatcher below this one (to eager execution at the bottom).
  Tensors dispatch_below(const OpDef& op, const Tensors& inputs, const Attributes& attributes) const;

 private:
  friend class DispatcherScope;
  const ThreadScope<Dispatcher, Dispatcher*>* place_ = nullptr;  // on the stack
};

// Puts a dispatcher on top of this thread's stack for the lifetime of the scope, or until end() is called. Scopes may
// end in any order.
class DispatcherScope {
 public:
  explicit DispatcherScope(Dispatcher& dispatcher) : place_(&dispatcher) { dispatcher.place_ = &place_; }
  void end() { place_.end(); }

 private:
  ThreadScope<Dispatcher, Dispatcher*> place_;
};

Dispatcher* top_dispatcher();
// The identity, as in TracedValue::trace, of the trace that runs on this thread; 0 for none.
using TraceScope = ThreadScope<struct TraceTag, std::uint64_t>;
std::uint64_t current_trace();

// Calls an op by name through the stack.
Tensors run_op_all(std::string_view name, const Tensors& inputs, const Attributes& attributes = {});
// The same for an op of one output.
Tensor run_op(std::string_view name, const Tensors& inputs, const Attributes& attributes = {});
// Runs ops where resources are that do not live here.
class ResourceOwner {
 public:
  virtual ~ResourceOwner() = default;
  // All resources among the inputs are its own; the results are tensors of this process.
  virtual Tensors run(const OpDef& op, const Tensors& inputs, const Attributes& attributes,
                      const RandomState& random) = 0;
};
// The owner of the resources among the inputs; nullptr when they live here. Resources of one call have one owner.
ResourceOwner* owner_of(std::string_view op, std::span<const Tensor> inputs);

// Runs an op at once on concrete tensors (the bottom of the stack), on resources that live elsewhere by their owner.
Tensors run_eagerly(const OpDef& op, const Tensors& inputs, const Attributes& attributes);
Tensors run_eagerly(const OpDef& op, const Tensors& inputs, const Attributes& attributes, const RandomState& random);

}  // namespace cohort
