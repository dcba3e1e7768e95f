#include "cohort/model/compiled.h"

#include <algorithm>
#include <map>

#include "cohort/core/dispatch.h"
#include "cohort/core/text.h"
#include "cohort/graph/trace.h"

namespace cohort {
namespace {

std::string joined(const std::vector<std::string>& names) { return "[" + join(names, in_quotes) + "]"; }

// A value for each output out of one for all, a list or a dict.
template <class T>
std::vector<const T*> spread(const PerOutput<T>& argument, const std::vector<std::string>& names, const char* what) {
  using Kind = typename PerOutput<T>::Kind;
  std::vector<const T*> result(names.size(), nullptr);
  if (argument.kind == Kind::None) return result;
  if (argument.kind == Kind::Dict) {
    for (const auto& [key, value] : argument.items) {
      const auto at = std::find(names.begin(), names.end(), key);
      if (at == names.end()) {
        throw invalid_argument("Model.compile", std::string(what) + " must be named after the model's outputs",
                               {{"key", in_quotes(key)}, {"outputs", joined(names)}});
      }
      result[static_cast<std::size_t>(at - names.begin())] = &value;
    }
    return result;
  }
  if (argument.kind == Kind::All) {
    std::fill(result.begin(), result.end(), &argument.items[0].second);
    return result;
  }
  if (argument.items.size() != names.size()) {
    throw invalid_argument("Model.compile", std::string("a list of ") + what + " needs one entry for each output",
                           {{"entries", argument.items.size()}, {"outputs", joined(names)}});
  }
  for (std::size_t i = 0; i < names.size(); ++i) result[i] = &argument.items[i].second;
  return result;
}

enum class Labels { Binary, Sparse, Categorical };
// What kind of classification an output and its target make, by Keras's rule.
Labels labels_of(const Tensor& y_true, const Tensor& y_pred) {
  const std::int64_t predicted = y_pred.rank() > 0 ? y_pred.shape().back() : 1;
  const std::int64_t given = y_true.rank() > 0 ? y_true.shape().back() : 1;
  if (predicted == 1) return Labels::Binary;
  if (y_true.rank() < y_pred.rank() || (given == 1 && predicted > 1)) return Labels::Sparse;
  return Labels::Categorical;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Ref<Loss> resolve_loss(const LossItem& item, const Tensor& y_true, const Tensor& y_pred) {
  if (!item.is_name()) return item.object();
  const std::string name = lower(item.name());
  if (name != "crossentropy" && name != "ce") return item.name();
  switch (labels_of(y_true, y_pred)) {
    case Labels::Binary:
      return "BinaryCrossentropy";
    case Labels::Sparse:
      return "SparseCategoricalCrossentropy";
    default:
      return "CategoricalCrossentropy";
  }
}

Ref<Metric> resolve_metric(const MetricItem& item, const Tensor& y_true, const Tensor& y_pred) {
  if (!item.is_name()) return item.object();
  const std::string name = lower(item.name());
  const char* class_name = nullptr;
  if (name == "accuracy" || name == "acc") {
    switch (labels_of(y_true, y_pred)) {
      case Labels::Binary:
        class_name = "BinaryAccuracy";
        break;
      case Labels::Sparse:
        class_name = "SparseCategoricalAccuracy";
        break;
      default:
        class_name = "CategoricalAccuracy";
    }
  } else if (name == "crossentropy" || name == "ce") {
    switch (labels_of(y_true, y_pred)) {
      case Labels::Binary:
        class_name = "BinaryCrossentropy";
        break;
      case Labels::Sparse:
        class_name = "SparseCategoricalCrossentropy";
        break;
      default:
        class_name = "CategoricalCrossentropy";
    }
  }
  Ref<Metric> metric = class_name ? Ref<Metric>(class_name) : Ref<Metric>(item.name());
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
                           {{"entries", items.size()}, {"outputs", joined(names)}},
                           "Name the metrics of each output in a dict.");
  }
  std::vector<MetricsArgument::Items> lists;
  for (const MetricItem& item : items) lists.push_back({item});
  return MetricsArgument::per_output(std::move(lists));
}

// Tensors of an element in the outputs' order; a dict is read by name.
Tensors in_order(const Element& element, const std::vector<std::string>& names) {
  if (element.kind() != Element::Kind::Dict) return element.flatten();
  Tensors tensors;
  for (const std::string& name : names) {
    const Element* found = element.find(name);
    tensors.push_back(found && found->is_leaf() ? found->leaf() : Tensor());
  }
  return tensors;
}

}  // namespace

Ref<Metric> make_mean(const std::string& name) {
  EagerScope eager;
  Ref<Metric> mean("Mean");
  mean->set_name(name);
  return mean;
}

Tensor batch_size_of(const Tensor& batch) {
  if (batch.rank() == 0) return Tensor::scalar(1.0);
  return run_op("SizeOf", {batch}, {{"axes", std::vector<std::int64_t>{0}}, {"dtype", DType::Float32}});
}

OutputPairs pair_outputs(const Element& y_true, const Element& y_pred, const Element& sample_weight,
                         const std::vector<std::string>& names) {
  OutputPairs pairs;
  pairs.y_pred = y_pred.flatten();
  if (y_pred.kind() == Element::Kind::Dict && y_pred.size() == pairs.y_pred.size()) {
    for (std::size_t i = 0; i < y_pred.size(); ++i) pairs.names.push_back(y_pred.key(i));
  } else {
    pairs.names = names;
    // A model that computes in code has no names for its outputs: they are counted.
    for (std::size_t i = pairs.names.size(); i < pairs.y_pred.size(); ++i) {
      pairs.names.push_back("output_" + std::to_string(i + 1));
    }
    pairs.names.resize(pairs.y_pred.size());
  }
  pairs.y_true = in_order(y_true, pairs.names);
  if (pairs.y_true.empty()) pairs.y_true.resize(pairs.y_pred.size());
  if (pairs.y_true.size() != pairs.y_pred.size()) {
    throw invalid_argument("Model", "a target for each output is expected",
                           {{"targets", pairs.y_true.size()}, {"outputs", joined(pairs.names)}});
  }
  pairs.sample_weight = in_order(sample_weight, pairs.names);
  if (pairs.sample_weight.size() < pairs.y_pred.size()) {
    const Tensor shared = pairs.sample_weight.empty() ? Tensor() : pairs.sample_weight[0];
    pairs.sample_weight.assign(pairs.y_pred.size(), shared);
  }
  return pairs;
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
    if (!metrics_.empty()) metrics_[i]->update_state(value, {}, {});
    if (term.weighted) value = run_op("Multiply", {value, Tensor::scalar(term.weight, value.dtype())});
    total = total.defined() ? run_op("Add", {total, value}) : value;
  }
  return total;
}

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
