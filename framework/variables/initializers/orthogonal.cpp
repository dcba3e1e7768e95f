#include "cohort/variables/initializers/orthogonal.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {
namespace {

// The orthogonal and the triangular factor of a random matrix with at least as many rows as columns.
Tensors random_factors(std::size_t rows, std::size_t columns, std::optional<std::int64_t> seed) {
  const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  const Tensor drawn = random_values(shape, seed, Numbers::Normal, 1.0, 0.0);  // column by column
  const std::span<const float> numbers = drawn.data<float>();
  std::vector<float> values(rows * columns);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) values[row * columns + column] = numbers[column * rows + row];
  }
  return run_eagerly(find_op("Qr"), {Tensor::from_blob(values.data(), DType::Float32, shape)}, {});
}

}  // namespace

void OrthogonalInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor OrthogonalInitializer::operator()(const Shape& shape, DType dtype) const {
  if (shape.rank() < 2) {
    throw invalid_argument("Orthogonal", "a shape of at least two axes is expected", {{"shape", shape}});
  }
  const auto columns = static_cast<std::size_t>(shape.back());
  const auto rows = static_cast<std::size_t>(shape.slice(0, shape.rank() - 1).num_elements());
  const std::size_t count = std::min(rows, columns), size = std::max(rows, columns);
  const Tensors factors = random_factors(size, count, seed_);
  const std::span<const float> vectors = factors[0].data<float>(), triangle = factors[1].data<float>();
  std::vector<float> values(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t vector = rows >= columns ? column : row, at = rows >= columns ? row : column;
      // With a triangular factor whose diagonal is positive they are uniformly distributed.
      const double sign = triangle[vector * count + vector] < 0 ? -1.0 : 1.0;
      values[row * columns + column] = static_cast<float>(options_.gain * (sign * vectors[at * count + vector]));
    }
  }
  return from_floats(values, shape, dtype);
}

COHORT_REGISTER(Initializer, OrthogonalInitializer, "Orthogonal", "orthogonal", "OrthogonalInitializer");

Orthogonal::Orthogonal(OrthogonalOptions options) : Ref(std::make_shared<OrthogonalInitializer>(options)) {}

}  // namespace cohort::initializers
