#pragma once

#include <functional>
#include <optional>

#include "cohort/core/tensor.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

struct TracedGraph;

// Says what stands in a thread for the resources that traces have captured: replicas share traces, and each has
// variables of its own.
class CaptureBinder {
 public:
  virtual ~CaptureBinder() = default;
  // What stands for this resource tensor; itself where nothing else does.
  virtual const Tensor& bind(const Tensor& capture) const = 0;
  // Runs a function's graph, which needs nothing that the thread shares with others.
  virtual void compute(const std::function<void()>& run) const = 0;
  // Calls a function in a way of its own, with other places than this thread; nothing: it is to be run here as it is.
  virtual std::optional<Tensors> call(const TracedGraph& /*function*/, const Tensors& /*arguments*/) const {
    return std::nullopt;
  }
};

// While one lives, its thread's functions and variables use what the binder says. Thread-local, nested.
using CaptureBinding = ThreadScope<CaptureBinder, const CaptureBinder*>;

}  // namespace cohort
