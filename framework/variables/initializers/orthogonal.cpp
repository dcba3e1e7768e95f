#include "cohort/variables/initializers/orthogonal.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {
namespace {

// A matrix with orthonormal columns, decided by a random one with at least as many rows. The signs make the diagonal of
// its triangular factor positive, which makes it uniformly distributed.
std::vector<double> orthonormal_columns(std::size_t rows, std::size_t columns, NumberStream& stream) {
  std::vector<double> values(rows * columns);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) values[row * columns + column] = stream.normal();
  }
  const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  const Tensors factors = run_eagerly(find_op("Qr"), {Tensor::of(values, shape, cpu())}, {});
  values = factors[0].to_vector<double>();
  const std::vector<double> triangle = factors[1].to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % columns;
    if (triangle[column * columns + column] < 0) values[i] = -values[i];
  }
  return values;
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
  NumberStream stream(seed_);
  const std::vector<double> vectors = orthonormal_columns(size, count, stream);
  std::vector<float> values(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double value = rows >= columns ? vectors[row * count + column] : vectors[column * count + row];
      values[row * columns + column] = static_cast<float>(options_.gain * value);
    }
  }
  return from_floats(values, shape, dtype);
}

COHORT_REGISTER(Initializer, OrthogonalInitializer, "Orthogonal", "orthogonal", "OrthogonalInitializer");

Orthogonal::Orthogonal(OrthogonalOptions options) : Ref(std::make_shared<OrthogonalInitializer>(options)) {}

}  // namespace cohort::initializers
