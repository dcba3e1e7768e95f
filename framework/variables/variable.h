#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/variables/constraint.h"
#include "cohort/variables/initial_value.h"
#include "cohort/variables/variable_options.h"

namespace cohort {

// A value that outlives steps and may be changed: weights, optimizer slots, metric states, counters. A shared handle;
// identity is the body. Reading it inside a trace makes a ReadVariable node. Thread-safe for reading.
class Variable {
 public:
  // An undefined handle.
  Variable() = default;
  // A new variable. Made outside every trace and tape: where the innermost VariableCreator says, else here on the
  // default device.
  //   initial_value: a tensor, or an initializer's call; it decides the shape and, of a tensor, the dtype.
  Variable(const Tensor& initial_value, VariableOptions options = {});
  Variable(const InitialValue& initial_value, VariableOptions options = {});
  // A handle of a body that exists.
  explicit Variable(std::shared_ptr<VariableBody> body);

  // True when the handle has a body.
  bool defined() const { return static_cast<bool>(body_); }
  // "kernel": need not be unique.
  const std::string& name() const;
  // "sequential/dense/kernel": unique within a model, Keras's `path`.
  const std::string& path() const;
  // Sets the path.
  void set_path(std::string path);
  // Type of its elements.
  DType dtype() const;
  // Its shape, known in every axis.
  const Shape& shape() const;
  // Whether it counts among the trainable variables of its layer, which optimizers train.
  bool trainable() const;
  // Sets whether it is trained.
  void set_trainable(bool trainable);
  // How values that replicas hold apart become one.
  Aggregation aggregation() const;
  // When they become one.
  Synchronization synchronization() const;
  // What optimizers project the value with after each update; empty for none.
  const Ref<Constraint>& constraint() const;
  // Sets the constraint; empty for none.
  void set_constraint(Ref<Constraint> constraint);

  // The current value, as an op: recorded by tapes, traced in a trace.
  Tensor value() const;
  // value(), so that a variable can stand where an op takes a tensor.
  operator Tensor() const { return value(); }
  // Sets the value; the shapes must agree.
  void assign(const Tensor& value);
  // Adds to the value.
  void assign_add(const Tensor& delta);
  // Subtracts from the value.
  void assign_sub(const Tensor& delta);
  // Adds values[i] to row indices[i].
  void scatter_add(const Tensor& indices, const Tensor& values);
  // The resource tensor that stands for this variable in graphs and tapes; a sharded one has none.
  const Tensor& handle() const;
  // The variables that hold its rows, in order: itself when it is whole.
  std::vector<Variable> shards() const;
  // True when its rows lie in several variables.
  bool sharded() const;
  // What the handles of one variable share.
  const std::shared_ptr<VariableBody>& body() const { return body_; }

  friend bool operator==(const Variable& a, const Variable& b) { return a.body_ == b.body_; }

 private:
  std::shared_ptr<VariableBody> body_;
  Tensor handle_;  // undefined when sharded
};

// A list of variables.
using Variables = std::vector<Variable>;

// Writes a host or device tensor into the variable at once, even during a trace (set_weights, checkpoints).
void write_now(const Variable& variable, const Tensor& value);
// Its value now, as a host tensor that later writes do not change.
Tensor read_now(const Variable& variable);

}  // namespace cohort
