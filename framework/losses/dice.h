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
  std::optional<std::vector<std::int64_t>> axis = std::nullopt;
};

// 1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)): how little two sets overlap. The sums run over `axis`,
// over everything when it is not given.
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = {});

class DiceLoss : public Loss {
 public:
  explicit DiceLoss(DiceOptions options = {});
  std::string class_name() const override { return "Dice"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  DiceOptions options_;
};

struct Dice : Loss::Handle<DiceLoss> {
  explicit Dice(DiceOptions options = {}) : Handle(std::make_shared<DiceLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
