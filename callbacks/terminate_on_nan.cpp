#include "cohort/callbacks/terminate_on_nan.h"

#include <cmath>
#include <cstdio>

#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

void TerminateOnNaNCallback::on_train_batch_end(std::int64_t batch, Logs& logs) {
  const std::optional<double> loss = logs.find("loss");
  if (!loss || std::isfinite(*loss)) return;
  if (options_.raise_error) {
    throw Error(ErrorCode::Aborted, "TerminateOnNaN", "the loss must be finite", {{"batch", batch}, {"loss", *loss}});
  }
  std::printf("Batch %lld: Invalid loss, terminating training\n", static_cast<long long>(batch));
  model().stop_training = true;
}

TerminateOnNaN::TerminateOnNaN(TerminateOnNaNOptions options)
    : Ref(std::make_shared<TerminateOnNaNCallback>(options)) {}

}  // namespace cohort::callbacks
