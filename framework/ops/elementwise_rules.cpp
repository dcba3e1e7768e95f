#include "cohort/ops/elementwise_rules.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/cast.h"

namespace cohort::ops {
namespace {

bool takes(fn::Types types, DType dtype) {
  switch (types) {
    case fn::Types::Float:
      return is_floating(dtype);
    case fn::Types::Number:
      return is_number(dtype);
    case fn::Types::Bool:
      return dtype == DType::Bool;
    case fn::Types::All:
      return is_plain(dtype);
  }
  return false;
}

const char* expected(fn::Types types) {
  switch (types) {
    case fn::Types::Float:
      return "operands must be floating";
    case fn::Types::Number:
      return "operands must be numbers";
    case fn::Types::Bool:
      return "operands must be bool";
    case fn::Types::All:
      return "operands must be numbers or bool";
  }
  return "";
}

// The nearest type an op takes: sums of bools count, functions of integers are real.
DType accepted(fn::Types types, DType dtype) {
  if (!is_plain(dtype) || takes(types, dtype)) return dtype;
  switch (types) {
    case fn::Types::Float:
      return DType::Float32;
    case fn::Types::Number:
      return DType::Int32;
    default:
      return DType::Bool;
  }
}

}  // namespace

OpDef& define_unary(const char* name, fn::Types types, bool is_test) {
  return register_op(name).inputs(1).elementwise().infer([=](const OpCall& call) -> Specs {
    call.check(takes(types, call.dtype(0)), expected(types), {{"x.dtype", call.dtype(0)}});
    return {{is_test ? DType::Bool : call.dtype(0), call.shape(0)}};
  });
}

OpDef& define_binary(const char* name, fn::Types types, bool is_test) {
  return register_op(name).inputs(2).elementwise().infer([=](const OpCall& call) -> Specs {
    call.check(call.dtype(0) == call.dtype(1), "both operands must have the same type",
               {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}});
    call.check(takes(types, call.dtype(0)), expected(types), {{"a.dtype", call.dtype(0)}});
    return {{is_test ? DType::Bool : call.dtype(0), broadcast_shapes(call.shape(0), call.shape(1), call.name())}};
  });
}

Tensor call_unary(const char* name, fn::Types types, const Tensor& x) {
  return run_op(name, {cast(x, accepted(types, x.dtype()))});
}

Tensor call_binary(const char* name, fn::Types types, const Tensor& a, const Tensor& b) {
  const DType dtype = types == fn::Types::Bool ? DType::Bool : accepted(types, promote(a.dtype(), b.dtype()));
  return run_op(name, {cast(a, dtype), cast(b, dtype)});
}

}  // namespace cohort::ops
