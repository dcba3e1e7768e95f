#pragma once

#include <functional>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Runs one of two functions, by a boolean scalar. Both return as many tensors, of the same types and ranks. Inside a
// trace both are traced and the choice is made when the graph runs.
Tensors cond(const Tensor& predicate, const std::function<Tensors()>& then_branch,
             const std::function<Tensors()>& else_branch);

// What while_loop takes besides its functions.
struct WhileOptions {
  std::int64_t maximum_iterations = -1;  // -1: no limit; a gradient needs one
};
// Repeats `body` while `condition` holds; the loop variables keep their types and shapes.
Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& variables,
                   WhileOptions options = {});

// What scan takes besides its function.
struct ScanOptions {
  std::int64_t length = -1;  // number of turns when there are no sequences
  bool reverse = false;      // walk the sequences from the end; results stay in their places
};
// What scan gives.
struct ScanResult {
  Tensors carries;    // after the last turn
  Tensors sequences;  // what each turn returned beside the carries, stacked along axis 0
};
// Turns over axis 0 of `sequences` with a known number of turns: body(carries, slices) returns the next carries
// followed by this turn's results. Differentiable.
ScanResult scan(const std::function<Tensors(const Tensors& carries, const Tensors& slices)>& body,
                const Tensors& carries, const Tensors& sequences, ScanOptions options = {});

}  // namespace cohort::ops
