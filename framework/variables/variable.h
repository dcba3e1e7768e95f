#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/variables/constraint.h"

namespace cohort {

// How values that replicas hold apart become one.
enum class Aggregation { None, Sum, Mean, OnlyFirstReplica };

struct VariableOptions {
  std::string name = "variable";
  bool trainable = true;
  DType dtype = DType::Float32;
  Aggregation aggregation = Aggregation::Mean;
};

// A value that outlives steps and may be changed: weights, optimizer slots, metric states, counters. A shared handle;
// identity is the body. Reading it inside a trace makes a ReadVariable node. Thread-safe for reading.
class Variable {
 public:
  Variable() = default;
  // Made outside every trace and tape, on the default device.
  Variable(const Tensor& initial_value, VariableOptions options = {});

  bool defined() const { return static_cast<bool>(body_); }
  const std::string& name() const;
  // "sequential/dense/kernel": unique within a model, Keras's `path`.
  const std::string& path() const;
  void set_path(std::string path);
  DType dtype() const;
  const Shape& shape() const;
  bool trainable() const;
  void set_trainable(bool trainable);
  Aggregation aggregation() const;
  // What optimizers project the value with after each update; empty for none.
  const Ref<Constraint>& constraint() const;
  void set_constraint(Ref<Constraint> constraint);

  // The current value, as an op: recorded by tapes, traced in a trace.
  Tensor value() const;
  operator Tensor() const { return value(); }
  void assign(const Tensor& value);
  void assign_add(const Tensor& delta);
  void assign_sub(const Tensor& delta);
  // Adds values[i] to row indices[i].
  void scatter_add(const Tensor& indices, const Tensor& values);
  // The resource tensor that stands for this variable in graphs and tapes.
  const Tensor& handle() const;

  friend bool operator==(const Variable& a, const Variable& b) { return a.body_ == b.body_; }

 private:
  class Body;
  std::shared_ptr<Body> body_;
  Tensor handle_;
};

using Variables = std::vector<Variable>;

// Writes a host or device tensor into the variable at once, whatever trace is under way (set_weights, checkpoints).
void write_now(const Variable& variable, const Tensor& value);
// Its value now, as a host tensor that later writes do not change.
Tensor read_now(const Variable& variable);

}  // namespace cohort
