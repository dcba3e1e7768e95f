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
  // One number.
  NestedNumbers(double value = 0.0) : values_{value} {}
  // A list.
  NestedNumbers(std::vector<double> values) : NestedNumbers(Shape{static_cast<std::int64_t>(values.size())}, values) {}
  // Lists of equal length.
  NestedNumbers(std::initializer_list<std::initializer_list<double>> rows);
  // In row-major order. `numpy_dtype` is given for what Keras keeps, and writes, as an array of numpy.
  NestedNumbers(Shape shape, std::vector<double> values, std::string numpy_dtype = {});

  // Their shape; no axes for one number.
  const Shape& shape() const { return shape_; }
  // The numbers, in row-major order.
  const std::vector<double>& values() const { return values_; }
  // The type of Keras's numpy array; empty for plain lists.
  const std::string& numpy_dtype() const { return numpy_dtype_; }
  // True for one number.
  bool is_scalar() const { return shape_.rank() == 0; }

 private:
  Shape shape_;
  std::vector<double> values_;
  std::string numpy_dtype_;
};

}  // namespace cohort
