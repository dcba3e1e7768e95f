#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/model/compile_options.h"
#include "cohort/model/output_pairs.h"

namespace cohort {

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

}  // namespace cohort
