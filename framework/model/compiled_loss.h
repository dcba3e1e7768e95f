#pragma once

#include <utility>
#include <vector>

#include "cohort/model/compile_options.h"
#include "cohort/model/output_pairs.h"

namespace cohort {

// A running mean of values given to update_state, under a name.
Ref<Metric> make_mean(const std::string& name);

// compile's losses over a model's outputs: their weighted sum, and a running mean for each when there are several.
class CompiledLoss {
 public:
  CompiledLoss(LossArgument losses, LossWeights weights) : argument_(std::move(losses)), weights_(std::move(weights)) {}
  bool empty() const { return argument_.empty(); }
  Tensor operator()(const OutputPairs& pairs);
  const std::vector<Ref<Metric>>& metrics() const { return metrics_; }

 private:
  struct Term {
    std::size_t output;
    Ref<Loss> loss;
    double weight = 1.0;
    bool weighted = false;
  };
  void resolve(const OutputPairs& pairs);

  LossArgument argument_;
  LossWeights weights_;
  bool resolved_ = false;
  std::vector<Term> terms_;
  std::vector<Ref<Metric>> metrics_;
};

}  // namespace cohort
