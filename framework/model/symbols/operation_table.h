#pragma once

#include <string>
#include <vector>

#include "cohort/model/symbols/operation.h"

// What the tables of Keras's operations share.
namespace cohort::operations {

using Arguments = std::vector<Element>;
using Integers = std::vector<std::int64_t>;
using Compute = std::function<Element(const Arguments&, const Attributes&)>;

// One operation of keras.src.ops.<module>: the names of its call's arguments, and its config's fields.
inline void add_typed_operation(const char* module, const char* name, std::vector<std::string> arguments,
                                std::vector<OperationField> fields, Compute compute) {
  register_operation(
      {std::string("keras.src.ops.") + module, name, std::move(arguments), std::move(fields), std::move(compute)});
}

// The same with fields whose values may be anything Keras writes there.
inline void add_operation(const char* module, const char* name, std::vector<std::string> arguments,
                          const std::vector<std::string>& fields, Compute compute) {
  std::vector<OperationField> kinds;
  for (const std::string& field : fields) kinds.push_back({field, OperationField::Kind::Any});
  add_typed_operation(module, name, std::move(arguments), std::move(kinds), std::move(compute));
}

// Fields as C++ wants them; the fallback where one is null. They throw when it is something else.
double number_of(const Attributes& config, const char* name, double fallback = 0.0);
std::int64_t integer_of(const Attributes& config, const char* name, std::int64_t fallback = 0);
bool truth_of(const Attributes& config, const char* name, bool fallback = false);
std::string text_of(const Attributes& config, const char* name, const std::string& fallback = "");
// One number stands for a list of one.
Integers integers_of(const Attributes& config, const char* name, const Integers& fallback = {});

// The axis and keepdims of a reduction.
inline Integers axes_of(const Attributes& config) { return integers_of(config, "axis"); }
inline bool keeps_dims(const Attributes& config) { return truth_of(config, "keepdims"); }
// An argument that may be left out.
inline Tensor optional_tensor(const Element& argument) { return argument.empty() ? Tensor() : argument.leaf(); }

// What an operation of several results returns.
inline Element tuple_of(const Tensors& tensors) {
  return Element::tuple(std::vector<Element>(tensors.begin(), tensors.end()));
}

}  // namespace cohort::operations
