#pragma once

#include <functional>

#include "cohort/core/tensor.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

// Says what stands in a thread for the resources that traces have captured: replicas share traces, and each has
// variables of its own.
class CaptureBinder {
 public:
  virtual ~CaptureBinder() = default;
  // What stands for this resource tensor; itself where nothing else does.
  virtual const Tensor& bind(const Tensor& capture) const = 0;
  // Runs a function's graph, which needs nothing that the thread shares with others.
  virtual void compute(const std::function<void()>& run) const = 0;
};

// While one lives, its thread's functions and variables use what the binder says. Thread-local, nested.
using CaptureBinding = ThreadScope<CaptureBinder, const CaptureBinder*>;

}  // namespace cohort
