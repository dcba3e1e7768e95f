#pragma once

#include "cohort/core/attributes.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/initializer.h"

namespace cohort {

class Graph;

// What a new variable begins with: a tensor, or an initializer's call that any task can make with the same result.
class InitialValue {
 public:
  // This very tensor.
  explicit InitialValue(Tensor value);
  // What an initializer gives for this shape and type. A random one without a seed draws one here. One that other tasks
  // may not know (a user's own) is called at once.
  InitialValue(const Initializer& initializer, const Shape& shape, DType dtype);
  // One number everywhere.
  static InitialValue constant(double value, const Shape& shape, DType dtype);

  // Its shape and dtype.
  const TensorSpec& spec() const { return spec_; }
  // True when there is nothing left to compute.
  bool concrete() const { return value_.defined(); }
  // The value, computed here if need be.
  Tensor value() const;
  // Rows [first, first + count) of it.
  InitialValue rows(std::int64_t first, std::int64_t count) const;
  // A graph without inputs whose only output is the value.
  Graph graph() const;

 private:
  TensorSpec spec_;
  Tensor value_;
  Attributes call_;  // of the op "InitialValue"; empty when concrete
};

}  // namespace cohort
