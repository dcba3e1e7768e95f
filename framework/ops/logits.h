#pragma once

#include <vector>

#include "cohort/core/dispatch.h"

namespace cohort {

// Remembers, while it lives, what went into the softmax and sigmoid functions called on this thread: a cross-entropy of
// their outputs is computed from there, as Keras does, and keeps its digits where a probability is almost 0 or 1.
class LogitsScope : public Dispatcher {
 public:
  LogitsScope() : innermost_(this), scope_(*this) {}
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override;

 private:
  friend Tensor logits_behind(const Tensor& output);
  struct Entry {
    Tensor input, output;
  };
  using Innermost = ThreadScope<LogitsScope, LogitsScope*>;
  std::vector<Entry> entries_;
  Innermost innermost_;
  DispatcherScope scope_;
};

// The input of the softmax or sigmoid whose output this is; undefined when it is not known.
Tensor logits_behind(const Tensor& output);

// What a cross-entropy computes from: what went into the softmax or sigmoid that made `output`, where that is known. As
// in Keras either function serves every cross-entropy, and from_logits cannot make it be applied twice: that warns.
struct MaybeLogits {
  Tensor values;
  bool from_logits;
};
// Finds them for `output`; the warning names `who`.
MaybeLogits maybe_logits(const Tensor& output, bool from_logits, const char* who);

}  // namespace cohort
