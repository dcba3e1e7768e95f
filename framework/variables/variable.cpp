#include "cohort/variables/variable.h"

#include <atomic>

#include "cohort/core/dispatch.h"
#include "cohort/graph/trace.h"

namespace cohort {

class Variable::Body : public Resource {
 public:
  Body(const Tensor& initial, VariableOptions options)
      : Resource(options.name),
        options_(std::move(options)),
        path_(options_.name),
        spec_(initial.spec()),
        value_(initial) {}

  const char* kind() const override { return "Variable"; }
  void* kernel_pointer() override { return value_.raw(); }
  void prepare_write() override {
    // A tensor that was read shares this memory and must keep its value.
    if (!value_.buffer()->unique()) value_ = value_.clone();
  }
  Tensor shared_value() override { return value_.view(value_.shape()); }
  TensorSpec value_spec() const override { return spec_; }

  VariableOptions options_;
  std::string path_;
  const TensorSpec spec_;  // never changes, while the value moves to other memory
  Tensor value_;
  Ref<Constraint> constraint_;
};

Variable::Variable(const Tensor& initial_value, VariableOptions options) {
  if (initial_value.is_symbolic()) {
    throw failed_precondition("Variable '" + options.name + "'", "a variable's initial value must be concrete",
                              {{"initial_value", initial_value.spec()}},
                              "Make variables in build() or before the traced function.");
  }
  EagerScope eager;
  Tensor value = initial_value;
  if (value.dtype() != options.dtype) value = run_op("Cast", {value}, {{"dtype", options.dtype}});
  // Memory of its own: what the caller holds must not change with the variable.
  body_ = std::make_shared<Body>(value.to(default_device()).clone(), std::move(options));
  handle_ = Tensor::of_resource(body_);
}

const std::string& Variable::name() const { return body_->name(); }
const std::string& Variable::path() const { return body_->path_; }
void Variable::set_path(std::string path) { body_->path_ = std::move(path); }
DType Variable::dtype() const { return body_->spec_.dtype; }
const Shape& Variable::shape() const { return body_->spec_.shape; }
bool Variable::trainable() const { return body_->options_.trainable; }
void Variable::set_trainable(bool trainable) { body_->options_.trainable = trainable; }
Aggregation Variable::aggregation() const { return body_->options_.aggregation; }
const Ref<Constraint>& Variable::constraint() const { return body_->constraint_; }
void Variable::set_constraint(Ref<Constraint> constraint) { body_->constraint_ = std::move(constraint); }
const Tensor& Variable::handle() const { return handle_; }

Tensor Variable::value() const { return run_op("ReadVariable", {handle_}, {{"dtype", dtype()}, {"shape", shape()}}); }

namespace {

// The value in the variable's type, checked against its shape.
Tensor fitting(const Variable& variable, const Tensor& value, const char* what) {
  if (!value.shape().compatible(variable.shape())) {
    throw invalid_argument("Variable '" + variable.path() + "'",
                           std::string(what) + " needs a value of the variable's shape",
                           {{"value.shape", value.shape()}, {"variable.shape", variable.shape()}});
  }
  return value.dtype() == variable.dtype() ? value : run_op("Cast", {value}, {{"dtype", variable.dtype()}});
}

}  // namespace

void Variable::assign(const Tensor& value) {
  run_op_all("AssignVariable", {handle_, fitting(*this, value, "assign")}, {{"dtype", dtype()}, {"shape", shape()}});
}
void Variable::assign_add(const Tensor& delta) {
  run_op_all("AssignAddVariable", {handle_, fitting(*this, delta, "assign_add")},
             {{"dtype", dtype()}, {"shape", shape()}});
}
void Variable::assign_sub(const Tensor& delta) {
  run_op_all("AssignSubVariable", {handle_, fitting(*this, delta, "assign_sub")},
             {{"dtype", dtype()}, {"shape", shape()}});
}
void Variable::scatter_add(const Tensor& indices, const Tensor& values) {
  run_op_all("ScatterAddVariable", {handle_, indices, values}, {{"dtype", dtype()}, {"shape", shape()}});
}

void write_now(const Variable& variable, const Tensor& value) {
  EagerScope eager;
  Variable(variable).assign(value);
}

Tensor read_now(const Variable& variable) {
  EagerScope eager;
  const Tensor value = variable.value();
  return value.device().host_readable() ? value.clone() : value.to_host();
}

}  // namespace cohort
