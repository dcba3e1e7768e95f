#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/losses/loss.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

struct TverskyOptions {
  double alpha = 0.5;
  double beta = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "tversky";
  std::optional<std::vector<std::int64_t>> axis = std::nullopt;
};

// 1 - the Tversky index, a Dice loss that weighs what is missing by `alpha` and what is too much by `beta`. The sums
// run over `axis`, over everything when it is not given.
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, double alpha = 0.5, double beta = 0.5,
               const ops::Axes& axis = {});

class TverskyLoss : public Loss {
 public:
  explicit TverskyLoss(TverskyOptions options = {});
  std::string class_name() const override { return "Tversky"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  TverskyOptions options_;
};

struct Tversky : Loss::Handle<TverskyLoss> {
  explicit Tversky(TverskyOptions options = {}) : Handle(std::make_shared<TverskyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
