#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/rounded_value.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/constraint.h"
#include "cohort/variables/variable_options.h"

namespace cohort {

class Variable;
class VariableCreator;

// What Variable handles share: a variable's name and kind, wherever its value lies.
class VariableBody : public Resource {
 public:
  VariableBody(TensorSpec spec, VariableOptions options);

  const char* kind() const final { return "Variable"; }
  TensorSpec value_spec() const final { return spec_; }
  const TensorSpec& spec() const { return spec_; }  // never changes, while the value moves to other memory
  const VariableOptions& options() const { return options_; }
  void set_trainable(bool trainable);
  const std::string& path() const { return options_.path; }
  void set_path(std::string path);
  const Ref<Constraint>& constraint() const { return constraint_; }
  void set_constraint(Ref<Constraint> constraint) { constraint_ = std::move(constraint); }

  // The variables that hold its rows, in order; empty when it is whole.
  virtual const std::vector<Variable>& parts() const;
  // The variable this one is a part of, if any.
  std::shared_ptr<VariableBody> whole() const { return whole_.lock(); }
  // The creator in whose scope it was made; nullptr outside of any.
  VariableCreator* made_under() const { return made_under_; }

 private:
  friend class Variable;
  friend class ShardedBody;
  const TensorSpec spec_;
  VariableOptions options_;
  Ref<Constraint> constraint_;
  std::weak_ptr<VariableBody> whole_;
  VariableCreator* made_under_ = nullptr;
};

// Thrown for a variable on replicas, whose values must become one, where it does not say how.
Error lacks_aggregation(const VariableBody& variable);

// A variable whose value lies in this process.
class LocalVariable : public VariableBody, public RoundedValue {
 public:
  // Keeps `value` without a copy, unless its memory was lent: nobody else may rely on it.
  LocalVariable(Tensor value, VariableOptions options);

  void* kernel_pointer() override { return value_.raw(); }
  void prepare_write() override;
  Tensor shared_value() override { return value_.view(value_.shape()); }
  // Takes another tensor of the same spec as its value, without a copy; not while a graph that uses it runs. It must be
  // a view of its own: memory that others see as well, or that was lent, is then left to them with the next write.
  void replace_value(Tensor value);
  // Throws for what cannot be its value.
  void check_value(const TensorSpec& value) const;

 private:
  Tensor value_;
};

}  // namespace cohort
