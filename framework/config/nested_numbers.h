#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/shape.h"

namespace cohort {

// Numbers of a config that may be one, a list, or lists of lists: an array that Keras takes as an argument.
class NestedNumbers {
 public:
  NestedNumbers(double value = 0.0) : values_{value} {}
  NestedNumbers(std::vector<double> values) : NestedNumbers(Shape{static_cast<std::int64_t>(values.size())}, values) {}
  NestedNumbers(std::initializer_list<std::initializer_list<double>> rows);
  // In row-major order. `numpy_dtype` is given for what Keras keeps, and writes, as an array of numpy.
  NestedNumbers(Shape shape, std::vector<double> values, std::string numpy_dtype = {});

  const Shape& shape() const { return shape_; }
  const std::vector<double>& values() const { return values_; }
  const std::string& numpy_dtype() const { return numpy_dtype_; }
  bool is_scalar() const { return shape_.rank() == 0; }

 private:
  Shape shape_;
  std::vector<double> values_;
  std::string numpy_dtype_;
};

}  // namespace cohort
