#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/model/symbols/operation.h"
#include "cohort/ops/joining.h"

// What the tables of Keras's operations share.
namespace cohort::operations {

using Arguments = std::vector<Element>;
using Integers = std::vector<std::int64_t>;
using Compute = std::function<Element(const Arguments&, const Attributes&)>;
using OfOne = Tensor (*)(const Tensor&);
using OfTwo = Tensor (*)(const Tensor&, const Tensor&);

// One operation of keras.src.ops.<module>: the names of its call's arguments, and its config's fields.
inline void add_typed_operation(const char* module, const char* name, std::vector<std::string> arguments,
                                std::vector<OperationField> fields, Compute compute, bool lists_all_arguments = false) {
  register_operation({std::string("keras.src.ops.") + module, name, std::move(arguments), std::move(fields),
                      std::move(compute), lists_all_arguments});
}

// Fields whose values may be anything Keras writes there.
std::vector<OperationField> fields_of_any_kind(const std::vector<std::string>& names);
// An operation with such fields.
void add_operation(const char* module, const char* name, std::vector<std::string> arguments,
                   const std::vector<std::string>& fields, Compute compute, bool lists_all_arguments = false);
// Operations of one and of two tensors without fields.
void add_of_one(const char* module, const char* name, OfOne function, const char* argument = "x");
void add_of_two(const char* module, const char* name, OfTwo function);

// Fields as C++ wants them; the fallback where one is null. They throw when it is something else.
double number_of(const Attributes& config, const char* name, double fallback = 0.0);
std::optional<double> optional_number(const Attributes& config, const char* name);
std::int64_t integer_of(const Attributes& config, const char* name, std::int64_t fallback = 0);
bool bool_of(const Attributes& config, const char* name, bool fallback = false);
std::string text_of(const Attributes& config, const char* name, const std::string& fallback = "");
DType dtype_of(const Attributes& config, DType fallback, const char* name = "dtype");
// One number stands for a list of one.
Integers integers_of(const Attributes& config, const char* name, const Integers& fallback = {});
// The number of a config's axis; none where it is null.
std::optional<int> axis_of(const Attributes& config, const char* name = "axis");
ops::IndicesOrSections cuts_of(const Attributes& config);

// The axis and keepdims of a reduction.
inline Integers axes_of(const Attributes& config) { return integers_of(config, "axis"); }
inline bool keeps_dims(const Attributes& config) { return bool_of(config, "keepdims"); }
// An argument that may be left out.
inline Tensor optional_tensor(const Element& argument) { return argument.empty() ? Tensor() : argument.leaf(); }

// What an operation of several results returns.
inline Element tuple_of(const Tensors& tensors) {
  return Element::tuple(std::vector<Element>(tensors.begin(), tensors.end()));
}

// Calls an operation of one result, or of several, on symbols; the fields that are not null.
SymbolicTensor call_one(const std::string& name, const std::vector<OperationArgument>& arguments,
                        const Attributes& config = {});
std::vector<SymbolicTensor> call_several(const std::string& name, const std::vector<OperationArgument>& arguments,
                                         const Attributes& config = {});
// A symbol, number or tensor as an argument; an undefined tensor is one that is not given.
OperationArgument argument_of(const SymbolicOperand& operand);

// A config with these axes as Keras writes them: nothing for none, a number for one.
Attributes with_axes(Attributes config, const Integers& axes, const char* name = "axis");
Attributes with_axis(Attributes config, std::optional<int> axis);
Attributes with_cuts(Attributes config, const ops::IndicesOrSections& cuts);

// Defines the functions of symbols that call an operation of one or of two operands.
#define COHORT_SYMBOL_OF_ONE(function, operation) \
  SymbolicTensor function(const SymbolicTensor& x) { return operations::call_one(operation, {x}); }
#define COHORT_SYMBOL_OF_TWO(function, operation)                              \
  SymbolicTensor function(const SymbolicTensor& a, const SymbolicTensor& b) {  \
    return operations::call_one(operation, {a, b});                            \
  }                                                                            \
  SymbolicTensor function(const SymbolicTensor& a, const SymbolicOperand& b) { \
    return operations::call_one(operation, {a, operations::argument_of(b)});   \
  }                                                                            \
  SymbolicTensor function(const SymbolicOperand& a, const SymbolicTensor& b) { \
    return operations::call_one(operation, {operations::argument_of(a), b});   \
  }

}  // namespace cohort::operations
