#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/losses/loss.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

struct DiceOptions {
  std::string reduction = "sum_over_batch_size";
  std::string name = "dice";
  // Axes over which the sums run. None: all, the batch included.
  std::optional<std::vector<std::int64_t>> axis = std::nullopt;
};
COHORT_FIELDS(DiceOptions, axis)

// The values of Dice before the reduction: y_true and y_pred of one shape, any, in [0, 1]; a value for all of it, or
// one for each index of the axes outside `axis`.
//   axis: axes over which the sums run; empty: all, the batch included.
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = {});

class DiceLoss : public Loss {
 public:
  explicit DiceLoss(DiceOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  DiceOptions options_;
};

// Dice loss of segmentations, 1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)): 0 where both agree, 1 where
// they do not overlap.
// y_true and y_pred of one shape, any, in [0, 1]; a value for all of it, or one for each index of the axes outside
// `axis`, then the reduction.
struct Dice : Loss::Handle<DiceLoss> {
  explicit Dice(DiceOptions options = {});
};

}  // namespace cohort::losses
