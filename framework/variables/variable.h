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
  Variable() = default;
  // Made outside every trace and tape: where the innermost VariableCreator says, else here on the default device.
  Variable(const Tensor& initial_value, VariableOptions options = {});
  Variable(const InitialValue& initial_value, VariableOptions options = {});
  // A handle of a body that exists.
  explicit Variable(std::shared_ptr<VariableBody> body);

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
  Synchronization synchronization() const;
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
  // The resource tensor that stands for this variable in graphs and tapes; a sharded one has none.
  const Tensor& handle() const;
  // The variables that hold its rows, in order: itself when it is whole.
  std::vector<Variable> shards() const;
  bool sharded() const;
  const std::shared_ptr<VariableBody>& body() const { return body_; }

  friend bool operator==(const Variable& a, const Variable& b) { return a.body_ == b.body_; }

 private:
  std::shared_ptr<VariableBody> body_;
  Tensor handle_;  // undefined when sharded
};

using Variables = std::vector<Variable>;

// Writes a host or device tensor into the variable at once, whatever trace is under way (set_weights, checkpoints).
void write_now(const Variable& variable, const Tensor& value);
// Its value now, as a host tensor that later writes do not change.
Tensor read_now(const Variable& variable);

}  // namespace cohort
