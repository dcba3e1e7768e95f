#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/losses/loss.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

struct TverskyOptions {
  // Weight of what is missing, the false negatives.
  double alpha = 0.5;
  // Weight of what is too much, the false positives.
  double beta = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "tversky";
  // Axes over which the sums run. None: all, the batch included.
  std::optional<std::vector<std::int64_t>> axis = std::nullopt;
};
COHORT_FIELDS(TverskyOptions, alpha, beta, axis)

// The values of Tversky before the reduction: y_true and y_pred of one shape, any, in [0, 1]; a value for all of it, or
// one for each index of the axes outside `axis`.
//   alpha: weight of what is missing, the false negatives.
//   beta: weight of what is too much, the false positives.
//   axis: axes over which the sums run; empty: all, the batch included.
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, double alpha = 0.5, double beta = 0.5,
               const ops::Axes& axis = {});

class TverskyLoss : public Loss {
 public:
  explicit TverskyLoss(TverskyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  TverskyOptions options_;
};

// 1 - the Tversky index, a Dice loss that weighs two errors apart: both / (both + alpha * missing + beta * surplus),
// where both = sum(y_true * y_pred), missing = sum(y_true * (1 - y_pred)), surplus = sum((1 - y_true) * y_pred).
// y_true and y_pred of one shape, any, in [0, 1]; a value for all of it, or one for each index of the axes outside
// `axis`, then the reduction.
struct Tversky : Loss::Handle<TverskyLoss> {
  explicit Tversky(TverskyOptions options = {});
};

}  // namespace cohort::losses
