#pragma once

#include <string>

#include "cohort/model/layer/regularizer.h"

namespace cohort::regularizers {

struct OrthogonalOptions {
  double factor = 0.01;
  std::string mode = "rows";  // or "columns"
};

// Penalises the mean cosine (as a size) between different rows, or columns, of a matrix.
class OrthogonalRegularizerBody : public Regularizer {
 public:
  explicit OrthogonalRegularizerBody(OrthogonalOptions options = {});
  std::string class_name() const override { return "OrthogonalRegularizer"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  OrthogonalOptions options_;
};

struct OrthogonalRegularizer : Ref<OrthogonalRegularizerBody> {
  explicit OrthogonalRegularizer(OrthogonalOptions options = {})
      : Ref(std::make_shared<OrthogonalRegularizerBody>(std::move(options))) {}
};

}  // namespace cohort::regularizers
