#include "cohort/callbacks/swap_ema_weights.h"

#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {
namespace {

std::vector<std::pair<Variable, Variable>> averages_of(const Model& model) {
  const Ref<Optimizer>& optimizer = model.optimizer();
  std::vector<std::pair<Variable, Variable>> averages;
  if (optimizer) averages = optimizer->averages();
  if (averages.empty()) {
    throw failed_precondition("SwapEMAWeights", "the optimizer must keep averages of the weights it trains",
                              {{"optimizer", optimizer ? optimizer->name() : "none"}, {"model", model.name()}},
                              "Make it with use_ema = true; averages begin with the first step of training.");
  }
  return averages;
}

}  // namespace

void SwapEMAWeightsCallback::put_averages(bool into_model) {
  if (averages_in_model_ == into_model) return;
  for (const auto& [weight, average] : averages_of(model())) {
    const Tensor before = read_now(weight);
    write_now(weight, read_now(average));
    write_now(average, before);
  }
  averages_in_model_ = into_model;
}

void SwapEMAWeightsCallback::on_epoch_begin(std::int64_t) {
  if (options_.swap_on_epoch) put_averages(false);
}

void SwapEMAWeightsCallback::on_epoch_end(std::int64_t epoch, Logs&) {
  if (!options_.swap_on_epoch || averages_in_model_) return;
  put_averages(true);
  if (epoch != params().epochs - 1) return;
  // fit ends by copying the averages into the weights: where they are already, they must be in both places.
  for (const auto& [weight, average] : averages_of(model())) write_now(average, read_now(weight));
}

void SwapEMAWeightsCallback::on_test_begin() { put_averages(true); }
void SwapEMAWeightsCallback::on_test_end(Logs&) { put_averages(false); }
void SwapEMAWeightsCallback::on_predict_begin() { put_averages(true); }
// Keras 3.15 leaves the averages in the model here, by a slip of a condition; its documentation says what is meant.
void SwapEMAWeightsCallback::on_predict_end(Logs&) { put_averages(false); }

SwapEMAWeights::SwapEMAWeights(SwapEMAWeightsOptions options)
    : Ref(std::make_shared<SwapEMAWeightsCallback>(options)) {}

}  // namespace cohort::callbacks
