#include "cohort/metrics/metric.h"

namespace cohort {

Metric::Metric(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

void Metric::visit_fields(FieldVisitor& visitor) {
  visitor.field("name", name_);
  visitor.field("dtype", dtype_);
}

void Metric::reset_state() {
  for (Variable& variable : variables_) {
    variable.assign(Tensor::full(variable.shape(), 0.0, variable.dtype()));
  }
}

Variable Metric::add_variable(const std::string& name, const Shape& shape, double initial, Aggregation aggregation) {
  Variable variable(InitialValue::constant(initial, shape, dtype_), {.name = name,
                                                                     .trainable = false,
                                                                     .dtype = dtype_,
                                                                     .aggregation = aggregation,
                                                                     .synchronization = Synchronization::OnRead,
                                                                     .path = name_ + "/" + name});
  variables_.push_back(variable);
  return variable;
}

Registry<Metric>& Metric::registry() {
  static auto* registry = new Registry<Metric>("metric");
  return *registry;
}

}  // namespace cohort
