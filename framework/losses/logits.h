#pragma once

#include <string_view>
#include <vector>

#include "cohort/core/dispatch.h"

namespace cohort {

// Remembers, while it lives, what went into the softmax and sigmoid functions called on this thread: a cross-entropy of
// their outputs is computed from there, as Keras does, and keeps its digits where a probability is almost 0 or 1.
class LogitsScope : public Dispatcher {
 public:
  LogitsScope();
  ~LogitsScope() override;
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override;

 private:
  friend Tensor logits_behind(const Tensor& probabilities, std::string_view op);
  struct Entry {
    const OpDef* op;
    Tensor input, output;
  };
  LogitsScope* before_;
  std::vector<Entry> entries_;
  DispatcherScope scope_;
};

// The input of the op ("Softmax" over the last axis, "Sigmoid") whose output this is; undefined when it is not known.
Tensor logits_behind(const Tensor& probabilities, std::string_view op);

}  // namespace cohort
