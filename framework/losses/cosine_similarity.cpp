#include "cohort/losses/cosine_similarity.h"

#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
namespace {

Tensor unit_length(const Tensor& x, const ops::Axes& axis) {
  const Tensor squares = ops::sum(ops::square(x), axis, /*keep_dims=*/true);
  return x * ops::rsqrt(ops::maximum(squares, kEpsilon * kEpsilon));  // the slope at zero stays a number
}

}  // namespace

Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return -ops::sum(unit_length(labels, axis) * unit_length(predictions, axis), axis);
}

CosineSimilarityLoss::CosineSimilarityLoss(CosineSimilarityOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void CosineSimilarityLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CosineSimilarityLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return cosine_similarity(y_true, y_pred, options_.axis);
}

COHORT_REGISTER(Loss, CosineSimilarityLoss, "CosineSimilarity", "cosine_similarity");

CosineSimilarity::CosineSimilarity(CosineSimilarityOptions options)
    : Handle(std::make_shared<CosineSimilarityLoss>(std::move(options))) {}

}  // namespace cohort::losses
