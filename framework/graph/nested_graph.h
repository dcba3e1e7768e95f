#pragma once

#include <memory>

#include "cohort/core/kernel.h"
#include "cohort/graph/executable.h"

namespace cohort {

// A graph that a kernel runs: the branch of a cond, the body of a loop. Compiled once, run from any thread.
class NestedGraph {
 public:
  // For a kernel of this spec.
  NestedGraph(const Graph& graph, Specs inputs, const KernelSpec& spec);

  // Inputs in order, all in memory of device(); results are written where `outputs` points, or, where that is null,
  // into memory asked of `allocator` as output `first_output + i`.
  void run(void* const* inputs, void* const* outputs, const RandomState* random,
           OutputAllocator* allocator = nullptr) const;
  // Specs of the results; unknown axes where they depend on values.
  Specs outputs() const;
  // Where it runs, and where its inputs and results are.
  Device& device() const { return device_; }
  // Whether it may draw random numbers.
  bool draws() const { return draws_; }

 private:
  Specs inputs_;
  Device& device_;
  std::shared_ptr<Executable> executable_;
  bool planned_, draws_;
};

}  // namespace cohort
