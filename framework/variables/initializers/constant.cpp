#include "cohort/variables/initializers/constant.h"

#include <algorithm>
#include <vector>

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {

Tensor ConstantInitializer::operator()(const Shape& shape, DType dtype) const {
  return Tensor::full(shape, value_, dtype);
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

namespace {

template <class T>
std::shared_ptr<Initializer> make_default() {
  return std::make_shared<T>();
}

[[maybe_unused]] const bool constant_registered = [] {
  Registry<Initializer>& all = Initializer::registry();
  all.add("Constant", make_default<ConstantInitializer>, {"constant"});
  all.add("Zeros", make_default<ZerosInitializer>, {"zeros"});
  all.add("Ones", make_default<OnesInitializer>, {"ones"});
  all.add("Identity", make_default<IdentityInitializer>, {"identity", "IdentityInitializer"});
  return true;
}();

}  // namespace
}  // namespace cohort::initializers
