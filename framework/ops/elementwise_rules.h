#pragma once

#include "cohort/core/op.h"
#include "cohort/kernels/functors.h"

namespace cohort::ops {

// Registers an op of the functor table: its checks and its shape rule.
OpDef& define_unary(const char* name, fn::Types types, bool is_test);
OpDef& define_binary(const char* name, fn::Types types, bool is_test);

// Calls one, after bringing its operands to a type it takes.
Tensor call_unary(const char* name, fn::Types types, const Tensor& x);
Tensor call_binary(const char* name, fn::Types types, const Tensor& a, const Tensor& b);

}  // namespace cohort::ops
