#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/data/element.h"
#include "cohort/model/compile_options.h"

namespace cohort {

// The outputs of a model with their targets and weights side by side.
struct OutputPairs {
  std::vector<std::string> names;
  Tensors y_true, y_pred, sample_weight;  // undefined where there is none
};
// `names` name the outputs where y_pred is not a dict.
OutputPairs pair_outputs(const Element& y_true, const Element& y_pred, const Element& sample_weight,
                         const std::vector<std::string>& names);

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

// compile's metrics and weighted metrics over a model's outputs.
class CompiledMetrics {
 public:
  CompiledMetrics(MetricsArgument metrics, MetricsArgument weighted)
      : metrics_argument_(std::move(metrics)), weighted_argument_(std::move(weighted)) {}
  void update_state(const OutputPairs& pairs);
  // In order, each with the name of its figure; empty before the first update.
  const std::vector<std::pair<std::string, Ref<Metric>>>& metrics() const { return named_; }

 private:
  struct Entry {
    std::size_t output;
    Ref<Metric> metric;
    bool weighted;
  };
  void resolve(const OutputPairs& pairs);
  void add(const MetricsArgument& argument, const OutputPairs& pairs, bool weighted);

  MetricsArgument metrics_argument_, weighted_argument_;
  bool resolved_ = false;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, Ref<Metric>>> named_;
};

// A running mean of values given to update_state, under a name.
Ref<Metric> make_mean(const std::string& name);
// The number of rows of a batch, as a float scalar.
Tensor batch_size_of(const Tensor& batch);

}  // namespace cohort
