#include "cohort/variables/initializers/orthogonal.h"

#include <algorithm>
#include <cmath>

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {
namespace {

double dot(const double* a, const double* b, std::size_t size) {
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

// Makes `count` vectors of `size` numbers orthonormal, in double and twice over: once loses orthogonality to rounding.
// Their triangle factor has a positive diagonal, which is what makes the result uniformly distributed.
void orthonormalize(std::vector<double>& vectors, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    double* v = &vectors[i * size];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const double* u = &vectors[j * size];
        const double share = dot(u, v, size);
        for (std::size_t k = 0; k < size; ++k) v[k] -= share * u[k];
      }
    }
    const double norm = std::sqrt(dot(v, v, size));
    for (std::size_t k = 0; k < size; ++k) v[k] /= norm;
  }
}

}  // namespace

void OrthogonalInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visitor.field("gain", gain_);
}

Tensor OrthogonalInitializer::operator()(const Shape& shape, DType dtype) const {
  if (shape.rank() < 2) {
    throw invalid_argument("Orthogonal", "a shape of at least two axes is expected", {{"shape", shape}});
  }
  const auto columns = static_cast<std::size_t>(shape.back());
  const auto rows = static_cast<std::size_t>(shape.slice(0, shape.rank() - 1).num_elements());
  const std::size_t count = std::min(rows, columns), size = std::max(rows, columns);
  NumberStream stream(seed_);
  std::vector<double> vectors(count * size);
  for (double& value : vectors) value = stream.normal();
  orthonormalize(vectors, count, size);
  std::vector<float> values(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double value = rows >= columns ? vectors[column * size + row] : vectors[row * size + column];
      values[row * columns + column] = static_cast<float>(gain_ * value);
    }
  }
  return from_floats(values, shape, dtype);
}

namespace {

[[maybe_unused]] const bool orthogonal_registered = Initializer::registry().add(
    "Orthogonal", [] { return std::make_shared<OrthogonalInitializer>(); }, {"orthogonal", "OrthogonalInitializer"});

}  // namespace
}  // namespace cohort::initializers
