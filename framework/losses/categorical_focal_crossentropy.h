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

}  // namespace cohort::losses

template <>
struct cohort::FieldCodec<cohort::losses::ClassFactors> {
  static ConfigValue to(const losses::ClassFactors& factors) { return one_or_list(factors.values); }
  static losses::ClassFactors from(const GivenField& given) { return FieldCodec<std::vector<double>>::from(given); }
};

namespace cohort::losses {

struct CategoricalFocalCrossentropyOptions {
  // Weight of all classes, or a list of one for each.
  ClassFactors alpha = 0.25;
  // Exponent of the focus: the greater, the less easy samples count; 0 is the plain cross-entropy, times alpha.
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy";
};
COHORT_FIELDS(CategoricalFocalCrossentropyOptions, from_logits, label_smoothing, axis, alpha, gamma)

// The values of CategoricalFocalCrossentropy before the reduction: y_true and y_pred (batch, ..., classes), of one
// shape; a value for each (batch, ...).
//   alpha: weight of all classes, or one for each.
//   gamma: exponent of the focus; 0 is the plain cross-entropy, times alpha.
//   from_logits: whether y_pred are logits.
//   label_smoothing: draws the labels towards 1 / classes, in [0, 1].
//   axis: the axis of the classes; a list alpha lies along the last one.
Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const ClassFactors& alpha = 0.25,
                                      double gamma = 2.0, bool from_logits = false, double label_smoothing = 0.0,
                                      int axis = -1);

class CategoricalFocalCrossentropyLoss : public Loss {
 public:
  explicit CategoricalFocalCrossentropyLoss(CategoricalFocalCrossentropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CategoricalFocalCrossentropyOptions options_;
};

// Cross-entropy in which hard samples count more: the sum over the classes of -alpha * (1 - y_pred)^gamma * y_true *
// log(y_pred). Probabilities are first scaled to sum to one.
// y_true and y_pred (batch, ..., classes), of one shape; a value for each (batch, ...), then the reduction.
struct CategoricalFocalCrossentropy : Loss::Handle<CategoricalFocalCrossentropyLoss> {
  explicit CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions options = {});
};

}  // namespace cohort::losses
