#include "cohort/variables/initial_value.h"

#include <typeinfo>

#include "cohort/graph/graph.h"
#include "cohort/graph/trace.h"
#include "cohort/variables/initializer_attributes.h"
#include "cohort/variables/initializers/constant.h"

namespace cohort {
namespace {

// True when every task has this very class under this name.
bool known_everywhere(const Initializer& initializer) {
  const std::string name = initializer.class_name();
  if (name.find('>') != std::string::npos || !Initializer::registry().has(name)) return false;
  const std::shared_ptr<Initializer> registered = Initializer::registry().make(name);
  const Initializer& other = *registered;
  return typeid(other) == typeid(initializer);
}

}  // namespace

InitialValue::InitialValue(Tensor value) : spec_(value.spec()), value_(std::move(value)) {}

InitialValue::InitialValue(const Initializer& initializer, const Shape& shape, DType dtype) : spec_{dtype, shape} {
  std::optional<Attributes> fields;
  if (known_everywhere(initializer)) fields = write_initializer(initializer);
  if (!fields) {
    EagerScope eager;
    value_ = initializer(shape, dtype);
    return;
  }
  call_ = std::move(*fields);
  call_.set("shape", shape);
  call_.set("dtype", dtype);
  call_.set("first_row", std::int64_t{0});
  call_.set("rows", shape.rank() > 0 ? shape[0] : std::int64_t{0});
}

InitialValue InitialValue::constant(double value, const Shape& shape, DType dtype) {
  return InitialValue(initializers::ConstantInitializer(value), shape, dtype);
}

Tensor InitialValue::value() const {
  if (concrete()) return value_;
  EagerScope eager;
  return compute_initial_value(call_);
}

InitialValue InitialValue::rows(std::int64_t first, std::int64_t count) const {
  if (spec_.shape.rank() == 0 || first < 0 || count < 1 || count > spec_.shape[0] - first) {
    throw invalid_argument("InitialValue", "rows must lie within the value",
                           {{"first", first}, {"count", count}, {"shape", spec_.shape}});
  }
  InitialValue part = *this;
  part.spec_.shape[0] = count;
  if (concrete()) {
    part.value_ = value_.rows(first, count);
  } else {
    part.call_.set("first_row", call_.get<std::int64_t>("first_row") + first);
    part.call_.set("rows", count);
  }
  return part;
}

Graph InitialValue::graph() const {
  Graph graph;
  graph.outputs = {concrete() ? graph.add(find_op("Constant"), {}, {{"value", value_.to_host()}}, "initial_value")
                              : graph.add(find_op("InitialValue"), {}, call_, "initial_value")};
  return graph;
}

}  // namespace cohort
