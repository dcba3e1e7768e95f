#pragma once

#include "tests/support/op_check.h"

namespace cohort::test {

// Applies a function to spread values and compares with a reference, which sees what the type made of the values;
// integers wrap around.
void check_unary(const std::function<Tensor(const Tensor&)>& function, const std::function<double(double)>& reference,
                 DType dtype, double low, double high);

// The same for two operands, in every way their shapes can meet: equal, rows, columns, scalars, several axes, empty.
void check_binary(const std::function<Tensor(const Tensor&, const Tensor&)>& function,
                  const std::function<double(double, double)>& reference, DType dtype, double low, double high,
                  double b_low, double b_high);

// Gradient of a binary function with equal shapes and with operands that broadcast.
void check_binary_gradient(const std::function<Tensor(const Tensor&, const Tensor&)>& function, double low, double high,
                           double b_low, double b_high);

}  // namespace cohort::test
