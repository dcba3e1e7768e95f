#pragma once

#include "cohort/variables/initializers/random.h"

namespace cohort::initializers {

struct OrthogonalOptions {
  // Factor of the matrix.
  double gain = 1.0;
  std::optional<std::int64_t> seed = std::nullopt;
};
COHORT_FIELDS(OrthogonalOptions, gain)

class OrthogonalInitializer : public RandomInitializer {
 public:
  explicit OrthogonalInitializer(OrthogonalOptions options = {}) : RandomInitializer(options.seed), options_(options) {}
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  OrthogonalOptions options_;
};

// A random matrix with orthogonal columns (rows when it is wider than high), times `gain`; the axes before the last one
// count as rows.
struct Orthogonal : Ref<OrthogonalInitializer> {
  explicit Orthogonal(OrthogonalOptions options = {});
};

}  // namespace cohort::initializers
