#include "cohort/losses/logits.h"

namespace cohort {
namespace {

thread_local LogitsScope* innermost = nullptr;

bool over_last_axis(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  const Attributes& given = attributes.has("axis") ? attributes : op.defaults();
  const int axis = given.get<int>("axis");
  return axis == -1 || axis == inputs[0].rank() - 1;
}

}  // namespace

LogitsScope::LogitsScope() : before_(innermost), scope_(*this) { innermost = this; }
LogitsScope::~LogitsScope() { innermost = before_; }

Tensors LogitsScope::dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  Tensors outputs = dispatch_below(op, inputs, attributes);
  if (op.name() == "Sigmoid" || (op.name() == "Softmax" && over_last_axis(op, inputs, attributes))) {
    entries_.push_back({&op, inputs[0], outputs[0]});
  }
  return outputs;
}

Tensor logits_behind(const Tensor& probabilities, std::string_view op) {
  if (!innermost) return {};
  const auto& entries = innermost->entries_;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->op->name() == op && entry->output.same_as(probabilities)) return entry->input;
  }
  return {};
}

}  // namespace cohort
