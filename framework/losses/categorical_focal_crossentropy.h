#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "cohort/losses/loss.h"

namespace cohort::losses {

// One factor for all classes, or one for each.
struct ClassFactors {
  ClassFactors(double factor) : values{factor} {}
  ClassFactors(std::initializer_list<double> factors) : values(factors) {}
  ClassFactors(std::vector<double> factors) : values(std::move(factors)) {}
  std::vector<double> values;
};

struct CategoricalFocalCrossentropyOptions {
  ClassFactors alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy";
};

// Sum over `axis`, the classes, of -alpha * (1 - y_pred)^gamma * y_true * log(y_pred); y_pred are probabilities (first
// made to sum to one), or logits when `from_logits`.
Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const ClassFactors& alpha = 0.25,
                                      double gamma = 2.0, bool from_logits = false, double label_smoothing = 0.0,
                                      int axis = -1);

class CategoricalFocalCrossentropyLoss : public Loss {
 public:
  explicit CategoricalFocalCrossentropyLoss(CategoricalFocalCrossentropyOptions options = {});
  std::string class_name() const override { return "CategoricalFocalCrossentropy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CategoricalFocalCrossentropyOptions options_;
};

struct CategoricalFocalCrossentropy : Loss::Handle<CategoricalFocalCrossentropyLoss> {
  explicit CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions options = {})
      : Handle(std::make_shared<CategoricalFocalCrossentropyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
