#include "cohort/model/compiled_loss.h"

#include "cohort/core/dispatch.h"
#include "cohort/graph/trace.h"
#include "cohort/model/classification_names.h"
#include "cohort/variables/replica_context.h"

namespace cohort {
namespace {

Ref<Loss> resolve_loss(const LossItem& item, const Tensor& y_true, const Tensor& y_pred) {
  if (!item.is_name()) return item.object();
  if (label_measure(item.name()) != LabelMeasure::Crossentropy) return item.name();
  return class_for_labels(LabelMeasure::Crossentropy, y_true, y_pred);
}

}  // namespace

Ref<Metric> make_mean(const std::string& name) {
  EagerScope eager;
  Ref<Metric> mean("Mean");
  mean->set_name(name);
  return mean;
}

void CompiledLoss::resolve(const OutputPairs& pairs) {
  EagerScope eager;
  terms_.clear();  // an earlier attempt may have failed half-way
  metrics_.clear();
  const auto losses = spread(argument_, pairs.names, "losses");
  const auto weights = spread(weights_, pairs.names, "loss_weights");
  for (std::size_t i = 0; i < pairs.names.size(); ++i) {
    if (!losses[i] || losses[i]->empty()) continue;
    if (!pairs.y_true[i].defined()) {
      throw invalid_argument("Model", "an output with a loss needs a target", {{"output", in_quotes(pairs.names[i])}},
                             "Give y, or compile without a loss for it.");
    }
    terms_.push_back({i, resolve_loss(*losses[i], pairs.y_true[i], pairs.y_pred[i]), weights[i] ? *weights[i] : 1.0,
                      weights[i] != nullptr});
    if (pairs.names.size() > 1) metrics_.push_back(make_mean(pairs.names[i] + "_loss"));
  }
  resolved_ = true;
}

Tensor CompiledLoss::operator()(const OutputPairs& pairs) {
  if (!resolved_) resolve(pairs);
  Tensor total;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const Term& term = terms_[i];
    const std::size_t output = term.output;
    Tensor value = (*term.loss)(pairs.y_true[output], pairs.y_pred[output], pairs.sample_weight[output]);
    // Every batch counts alike, also a smaller last one: Keras's traced step does not know the batch's size here.
    // Replicas make up one batch together.
    const ReplicaContext* replica = get_replica_context();
    if (!metrics_.empty()) {
      metrics_[i]->update_state(unscale_loss_for_replica(value), {}, replica ? replica->loss_share() : Tensor());
    }
    if (term.weighted) value = run_op("Multiply", {value, Tensor::scalar(term.weight, value.dtype())});
    total = total.defined() ? run_op("Add", {total, value}) : value;
  }
  return total;
}

}  // namespace cohort
