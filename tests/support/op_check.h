#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cohort/core/op.h"

namespace cohort::test {

// Groups of element types that ops take.
inline const std::vector<DType> kFloats = {float16, bfloat16, float32, float64};
inline const std::vector<DType> kIntegers = {uint8, int8, int32, int64};
inline const std::vector<DType> kNumbers = {uint8, int8, int32, int64, float16, bfloat16, float32, float64};
inline const std::vector<DType> kAllTypes = {boolean, uint8, int8, int32, int64, float16, bfloat16, float32, float64};
inline const std::vector<DType> kBool = {boolean};

// A tensor of any plain type from numbers, on the default device.
Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype = DType::Float64);
// Numbers spread over [low, high] without order; the same for the same arguments.
std::vector<double> spread_values(std::int64_t count, double low, double high, unsigned seed = 1);
Tensor spread_tensor(const Shape& shape, double low, double high, DType dtype = DType::Float64, unsigned seed = 1);
// Between -1 and 1, for gradients.
inline Tensor spread(const Shape& shape, unsigned seed = 1) {
  return spread_tensor(shape, -1, 1, DType::Float64, seed);
}

// How close a result of this type must come to the truth, relative to max(1, |truth|).
double tolerance(DType dtype);
void expect_values(const Tensor& got, const std::vector<double>& want, double tolerance);
// Type, shape and values; the tolerance is the type's own.
void expect_tensor(const Tensor& got, DType dtype, const Shape& shape, const std::vector<double>& want);

using TensorFunction = std::function<Tensor(const Tensors&)>;
struct GradientCheckOptions {
  double step = 1e-5;
  double tolerance = 1e-6;
  bool second_order = true;
  bool unknown_batch = true;  // also inside a trace whose first axes are unknown
};
// Compares the gradient of a function of float64 tensors with finite differences: eagerly, of the gradient itself, and
// in a trace.
void check_gradient(const TensorFunction& function, const Tensors& inputs, const GradientCheckOptions& options = {});
// Compares a function under a trace with unknown first axes with the eager result.
void check_traced(const TensorFunction& function, const Tensors& inputs);

// Expects a cohort::Error whose text contains every part.
void expect_error(const std::function<void()>& action, const std::vector<std::string>& parts);

// What the tests of this binary cover, for the walk over the registry.
struct OpCoverage {
  std::vector<DType> reference_types;
  bool gradient = false;
};
bool register_reference(const std::string& op, const std::vector<DType>& dtypes);
bool register_gradient(const std::string& op);
OpCoverage coverage_of(const std::string& op);

// A reference case of an op, run once for each type in the list:
//   COHORT_OP_REFERENCE(Sum, over_rows, kNumbers) { ... uses `dtype` ... }
#define COHORT_OP_REFERENCE(Op, label, dtypes)                                                                  \
  static void Op##_##label##_reference(::cohort::DType dtype);                                                  \
  [[maybe_unused]] static const bool Op##_##label##_is_known = ::cohort::test::register_reference(#Op, dtypes); \
  TEST(Op, label) {                                                                                             \
    for (::cohort::DType dtype : dtypes) {                                                                      \
      SCOPED_TRACE(::cohort::to_string(dtype));                                                                 \
      Op##_##label##_reference(dtype);                                                                          \
    }                                                                                                           \
  }                                                                                                             \
  static void Op##_##label##_reference([[maybe_unused]] ::cohort::DType dtype)

// A gradient case of an op.
#define COHORT_OP_GRADIENT(Op, label)                                                                           \
  [[maybe_unused]] static const bool Op##_##label##_gradient_is_known = ::cohort::test::register_gradient(#Op); \
  TEST(Op, label##_gradient)

}  // namespace cohort::test
