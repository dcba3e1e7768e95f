#include "cohort/core/update_claims.h"

namespace cohort {

TensorSpec update_claim(const OpCall& call, int i, const TensorSpec& gradient) {
  const int rank = gradient.shape.rank();
  if (!call.has_attr("factored") || !call.attr<bool>("factored") || rank < 2) return gradient;
  const bool squares = call.has_attr("squares") && call.attr<bool>("squares");
  const int first_gradient = call.attr<int>("groups") - (squares ? 2 : 1), group = i / call.attr<int>("count");
  Shape shape = gradient.shape.slice(0, rank - 2);
  if (group == first_gradient - 2) {
    shape.push_back(gradient.shape[rank - 2]);
  } else if (group == first_gradient - 1) {
    shape.push_back(gradient.shape[rank - 1]);
  } else {
    return gradient;
  }
  return {gradient.dtype, shape};
}

}  // namespace cohort
