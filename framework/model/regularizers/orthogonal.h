#pragma once

#include <string>

#include "cohort/model/layer/regularizer.h"

namespace cohort::regularizers {

struct OrthogonalOptions {
  // Factor of the penalty.
  double factor = 0.01;
  // "rows" or "columns": the vectors that are to be orthogonal.
  std::string mode = "rows";
};
COHORT_FIELDS(OrthogonalOptions, factor, mode)

class OrthogonalRegularizerBody : public Regularizer {
 public:
  explicit OrthogonalRegularizerBody(OrthogonalOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  OrthogonalOptions options_;
};

// Penalises the mean absolute cosine between different rows, or columns, of a matrix.
struct OrthogonalRegularizer : Ref<OrthogonalRegularizerBody> {
  explicit OrthogonalRegularizer(OrthogonalOptions options = {});
};

}  // namespace cohort::regularizers
