#include "cohort/variables/initializers/constant.h"

#include <algorithm>
#include <vector>

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {

void ConstantInitializer::visit_fields(FieldVisitor& visitor) { visitor.field("value", value_); }

Tensor ConstantInitializer::operator()(const Shape& shape, DType dtype) const {
  if (value_.is_scalar()) return Tensor::full(shape, value_.values()[0], dtype);
  const Shape& own = value_.shape();
  const int missing = shape.rank() - own.rank();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(std::max(shape.rank(), 0)), 0);
  std::int64_t stride = 1;
  for (int axis = own.rank() - 1; axis >= 0; --axis) {
    if (missing < 0 || (own[axis] != 1 && own[axis] != shape[axis + missing])) {
      throw invalid_argument("Constant", "a value that broadcasts to the shape is expected",
                             {{"value.shape", own}, {"shape", shape}});
    }
    strides[static_cast<std::size_t>(axis + missing)] = own[axis] == 1 ? 0 : stride;
    stride *= own[axis];
  }
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
      rest /= shape[axis];
    }
    values[i] = static_cast<float>(value_.values()[static_cast<std::size_t>(at)]);
  }
  return from_floats(values, shape, dtype);
}

Tensor ZerosInitializer::operator()(const Shape& shape, DType dtype) const { return Tensor::full(shape, 0.0, dtype); }

Tensor OnesInitializer::operator()(const Shape& shape, DType dtype) const { return Tensor::full(shape, 1.0, dtype); }

Tensor IdentityInitializer::operator()(const Shape& shape, DType dtype) const {
  if (shape.rank() != 2) {
    throw invalid_argument("Identity", "a matrix is expected: two axes", {{"shape", shape}});
  }
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()), 0.0f);
  for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) {
    values[static_cast<std::size_t>(i * shape[1] + i)] = static_cast<float>(gain_);
  }
  return from_floats(values, shape, dtype);
}

COHORT_REGISTER(Initializer, ConstantInitializer, "Constant", "constant");
COHORT_REGISTER(Initializer, ZerosInitializer, "Zeros", "zeros");
COHORT_REGISTER(Initializer, OnesInitializer, "Ones", "ones");
COHORT_REGISTER(Initializer, IdentityInitializer, "Identity", "identity", "IdentityInitializer");

Constant::Constant(NestedNumbers value) : Ref(std::make_shared<ConstantInitializer>(std::move(value))) {}
Zeros::Zeros() : Ref(std::make_shared<ZerosInitializer>()) {}
Ones::Ones() : Ref(std::make_shared<OnesInitializer>()) {}
Identity::Identity(double gain) : Ref(std::make_shared<IdentityInitializer>(gain)) {}

}  // namespace cohort::initializers
