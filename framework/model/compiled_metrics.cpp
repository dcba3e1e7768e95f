#include "cohort/model/compiled_metrics.h"

#include <algorithm>
#include <map>

#include "cohort/graph/trace.h"
#include "cohort/model/classification_names.h"

namespace cohort {
namespace {

Ref<Metric> resolve_metric(const MetricItem& item, const Tensor& y_true, const Tensor& y_pred) {
  if (!item.is_name()) return item.object();
  const LabelMeasure measure = label_measure(item.name());
  Ref<Metric> metric(measure == LabelMeasure::None ? item.name() : class_for_labels(measure, y_true, y_pred));
  metric->set_name(item.name());
  return metric;
}

// Metrics by output, by Keras's rules: a model of one output takes all there are, however they are nested (a dict's by
// name); a plain list is one entry for each of several outputs.
MetricsArgument for_outputs(const MetricsArgument& argument, const std::vector<std::string>& names) {
  using Kind = MetricsArgument::Kind;
  if (names.size() == 1) {
    auto lists = argument.items;
    if (argument.kind == Kind::Dict) {
      std::stable_sort(lists.begin(), lists.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    MetricsArgument::Items all;
    for (const auto& [name, items] : lists) all.insert(all.end(), items.begin(), items.end());
    return MetricsArgument(std::move(all));
  }
  if (argument.kind != Kind::All) return argument;
  const MetricsArgument::Items& items = argument.items[0].second;
  if (items.size() != names.size()) {
    throw invalid_argument("Model.compile", "a list of metrics needs one entry for each output",
                           {{"entries", items.size()}, {"outputs", in_brackets(names)}},
                           "Name the metrics of each output in a dict.");
  }
  std::vector<MetricsArgument::Items> lists;
  for (const MetricItem& item : items) lists.push_back({item});
  return MetricsArgument::per_output(std::move(lists));
}

}  // namespace

void CompiledMetrics::add(const MetricsArgument& argument, const OutputPairs& pairs, bool weighted) {
  if (argument.empty()) return;
  const MetricsArgument by_output = for_outputs(argument, pairs.names);
  const auto lists = spread(by_output, pairs.names, "metrics");
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i]) continue;
    for (const MetricItem& item : *lists[i]) {
      if (item.empty()) continue;
      entries_.push_back({i, resolve_metric(item, pairs.y_true[i], pairs.y_pred[i]), weighted});
    }
  }
}

void CompiledMetrics::resolve(const OutputPairs& pairs) {
  EagerScope eager;
  entries_.clear();  // an earlier attempt may have failed half-way
  named_.clear();
  add(metrics_argument_, pairs, false);
  add(weighted_argument_, pairs, true);
  const bool prefixed = pairs.names.size() > 1;
  std::map<std::string, int> seen;
  for (const Entry& entry : entries_) {
    const std::string prefix = prefixed ? pairs.names[entry.output] + "_" : "";
    std::string name = prefix + entry.metric->name();
    if (seen.count(name) && entry.weighted) {
      name = prefix + "weighted_" + entry.metric->name();
    }
    const int count = seen[name]++;
    named_.emplace_back(count == 0 ? name : name + "_" + std::to_string(count), entry.metric);
  }
  resolved_ = true;
}

void CompiledMetrics::update_state(const OutputPairs& pairs) {
  if (!resolved_) resolve(pairs);
  for (const Entry& entry : entries_) {
    const std::size_t i = entry.output;
    if (!pairs.y_true[i].defined()) continue;
    entry.metric->update_state(pairs.y_true[i], pairs.y_pred[i], entry.weighted ? pairs.sample_weight[i] : Tensor());
  }
}

}  // namespace cohort
