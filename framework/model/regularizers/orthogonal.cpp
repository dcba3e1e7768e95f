#include "cohort/model/regularizers/orthogonal.h"

#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"

namespace cohort::regularizers {

OrthogonalRegularizerBody::OrthogonalRegularizerBody(OrthogonalOptions options) : options_(std::move(options)) {
  OrthogonalRegularizerBody::fields_changed();
}

void OrthogonalRegularizerBody::visit_fields(FieldVisitor& visitor) { visit_options(options_, visitor); }

void OrthogonalRegularizerBody::fields_changed() {
  if (options_.mode != "rows" && options_.mode != "columns") {
    throw invalid_argument("OrthogonalRegularizer", "mode must be 'rows' or 'columns'", {{"mode", options_.mode}});
  }
}

Tensor OrthogonalRegularizerBody::operator()(const Tensor& weight) const {
  if (weight.rank() != 2) {
    throw invalid_argument("OrthogonalRegularizer", "a matrix is expected: two axes", {{"shape", weight.shape()}});
  }
  constexpr double kLongest = 1e7;  // as Keras normalises: one over its epsilon
  const bool rows = options_.mode == "rows";
  const Tensor length = ops::rsqrt(ops::sum(ops::square(weight), rows ? 1 : 0, ops::keep_dims));
  const Tensor unit = weight * ops::minimum(length, kLongest);
  const Tensor cosines = ops::matmul(unit, unit, /*transpose_a=*/!rows, /*transpose_b=*/rows);
  const std::int64_t size = weight.shape()[rows ? 0 : 1];
  const Tensor others = cosines * (1.0 - ops::eye(size, size, 0, weight.dtype()));
  const double pairs = static_cast<double>(size) * static_cast<double>(size - 1) / 2.0;
  return ops::sum(ops::abs(others)) * (options_.factor * 0.5) / pairs;
}

COHORT_REGISTER(Regularizer, OrthogonalRegularizerBody, "OrthogonalRegularizer", "orthogonal_regularizer",
                "orthogonal");

OrthogonalRegularizer::OrthogonalRegularizer(OrthogonalOptions options)
    : Ref(std::make_shared<OrthogonalRegularizerBody>(std::move(options))) {}

}  // namespace cohort::regularizers
