#include "cohort/losses/categorical_generalized_cross_entropy.h"

#include "cohort/core/text.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred, double q) {
  if (y_pred.rank() == 0 || !y_true.shape().compatible(y_pred.shape().slice(0, y_pred.rank() - 1))) {
    throw invalid_argument("categorical_generalized_cross_entropy",
                           "y_true must have the shape of y_pred without its last axis",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}},
                           "Give class numbers: the argmax of one-hot labels, a column squeezed.");
  }
  const Tensor is_class =
      ops::one_hot(ops::cast(y_true, DType::Int64), y_pred.shape().back(), /*axis=*/-1, y_pred.dtype());
  return (1.0 - ops::pow(ops::sum(y_pred * is_class, -1), q)) / q;
}

CategoricalGeneralizedCrossEntropyLoss::CategoricalGeneralizedCrossEntropyLoss(
    CategoricalGeneralizedCrossEntropyOptions options)
    : Loss(options.name, options.reduction), q_(options.q) {
  CategoricalGeneralizedCrossEntropyLoss::fields_changed();
}

void CategoricalGeneralizedCrossEntropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visitor.field("q", q_);
}

void CategoricalGeneralizedCrossEntropyLoss::fields_changed() {
  Loss::fields_changed();
  if (!(q_ > 0.0 && q_ < 1.0)) throw invalid_argument(titled("Loss", name_), "q must lie in (0, 1)", {{"q", q_}});
}

Tensor CategoricalGeneralizedCrossEntropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return categorical_generalized_cross_entropy(y_true, y_pred, q_);
}

COHORT_REGISTER(Loss, CategoricalGeneralizedCrossEntropyLoss, "CategoricalGeneralizedCrossEntropy",
                "categorical_generalized_cross_entropy");

CategoricalGeneralizedCrossEntropy::CategoricalGeneralizedCrossEntropy(
    CategoricalGeneralizedCrossEntropyOptions options)
    : Handle(std::make_shared<CategoricalGeneralizedCrossEntropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
