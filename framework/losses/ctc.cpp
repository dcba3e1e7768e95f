#include "cohort/losses/ctc.h"

#include "cohort/ops/broadcast.h"
#include "cohort/ops/ctc.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor ctc(const Tensor& y_true, const Tensor& y_pred) {
  if (y_true.rank() != 2 || y_pred.rank() != 3) {
    throw invalid_argument("ctc",
                           "y_true must be class numbers (batch, length) and y_pred logits (batch, steps, classes)",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  const Tensor labels = ops::cast(y_true, DType::Int32);
  const Tensor label_length = ops::sum(ops::cast(ops::not_equal(labels, 0.0), DType::Int32), -1);
  const Tensor steps = ops::broadcast_like(ops::size_of(y_pred, {1}, DType::Int32), label_length);
  return ops::ctc_loss(labels, y_pred, label_length, steps);
}

CTCLoss::CTCLoss(CTCOptions options) : Loss(options.name, options.reduction) {}

Tensor CTCLoss::call(const Tensor& y_true, const Tensor& y_pred) { return ctc(y_true, y_pred); }

COHORT_REGISTER(Loss, CTCLoss, "CTC", "ctc");

CTC::CTC(CTCOptions options) : Handle(std::make_shared<CTCLoss>(std::move(options))) {}

}  // namespace cohort::losses
