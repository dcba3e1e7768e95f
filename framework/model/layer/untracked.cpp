#include "cohort/model/layer/untracked.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/model/layer/layer.h"
#include "cohort/variables/variable_body.h"

namespace cohort {
namespace {

using KnownBodies = std::set<std::weak_ptr<const VariableBody>, std::owner_less<>>;

// What was warned of, so that a second trace says nothing new.
class Warned {
 public:
  bool insert(const std::shared_ptr<VariableBody>& body) {
    std::lock_guard lock(mutex_);
    return bodies_.insert(body).second;
  }

 private:
  std::mutex mutex_;
  KnownBodies bodies_;
};
Warned& warned() {
  static auto* warned = new Warned;
  return *warned;
}

// Models below count, too, though their metrics are not those of the model around them.
void collect_metrics(const Layer& layer, KnownBodies& known) {
  for (const Ref<Metric>& metric : layer.metrics()) {
    for (const Variable& state : metric->variables()) known.insert(state.body());
  }
  for (const auto& [name, sublayer] : layer.sublayers()) collect_metrics(*sublayer, known);
}

KnownBodies tracked_by(const Layer& model) {
  KnownBodies known;
  for (const Variable& weight : model.weights()) known.insert(weight.body());
  collect_metrics(model, known);
  return known;
}

}  // namespace

void warn_of_untracked_layer(const Layer& layer, const Layer& around) {
  for (const Variable& weight : layer.weights()) warned().insert(weight.body());
  log::warn(layer.title() + " is called inside " + around.title() +
            ", but nobody tracks it: its weights are not trained, saved or shown. Hold it by track(\"name\", layer).");
}

void warn_of_untracked_variables(const Layer& model, const Tensors& captures) {
  const KnownBodies known = tracked_by(model);
  std::set<std::string> metrics;
  for (const Tensor& capture : captures) {
    if (capture.dtype() != DType::Resource) continue;
    std::shared_ptr<VariableBody> body = std::dynamic_pointer_cast<VariableBody>(capture.resource());
    if (!body) continue;
    if (const std::shared_ptr<VariableBody> whole = body->whole()) body = whole;
    const bool of_metric = body->options().synchronization == Synchronization::OnRead &&
                           body->options().aggregation != Aggregation::OnlyFirstReplica;
    if (known.count(body) || !(of_metric || body->options().trainable) || !warned().insert(body)) continue;
    const std::string& path = body->path();
    if (!of_metric) {
      log::warn(titled("Variable", path) + " is trainable and used by " + model.title() +
                ", which does not track it: it is not trained, saved or shown. Make it by add_weight.");
    } else if (metrics.insert(path.substr(0, path.rfind('/'))).second) {
      log::warn(titled("Metric", path.substr(0, path.rfind('/'))) + " is updated in a step of " + model.title() +
                ", which does not track it: it is not reset or shown. Say track_metric(metric) in the constructor.");
    }
  }
}

}  // namespace cohort
