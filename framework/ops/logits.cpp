#include "cohort/ops/logits.h"

#include <mutex>
#include <set>
#include <string>

#include "cohort/core/log.h"

namespace cohort {
namespace {

// One warning for each loss: an eager loop would repeat it at every step.
void warn_of_logits(const char* who) {
  static std::mutex mutex;
  static std::set<std::string>* warned = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (!warned->insert(who).second) return;
  log::warn(std::string(who) +
            ": from_logits is true, but y_pred comes out of a softmax or sigmoid. The loss is computed from what went "
            "into it; drop the activation or from_logits.");
}

}  // namespace

Tensors LogitsScope::dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  Tensors outputs = dispatch_below(op, inputs, attributes);
  if (op.name() == "Sigmoid" || op.name() == "Softmax") entries_.push_back({inputs[0], outputs[0]});
  return outputs;
}

Tensor logits_behind(const Tensor& output) {
  const LogitsScope* scope = LogitsScope::Innermost::current();
  if (!scope) return {};
  const auto& entries = scope->entries_;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->output.same_as(output)) return entry->input;
  }
  return {};
}

MaybeLogits maybe_logits(const Tensor& output, bool from_logits, const char* who) {
  const Tensor logits = logits_behind(output);
  if (!logits.defined()) return {output, from_logits};
  if (from_logits) warn_of_logits(who);
  return {logits, true};
}

}  // namespace cohort
