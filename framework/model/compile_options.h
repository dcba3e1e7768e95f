#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/losses/loss.h"
#include "cohort/metrics/metric.h"
#include "cohort/optimizers/optimizer.h"

namespace cohort {

// A loss or metric as a user names it: an object, or a string that is resolved when the model's outputs are known
// ("accuracy" and "crossentropy" mean different classes for different outputs). None is an output left alone.
template <class T>
class NameOrObject {
 public:
  // None.
  NameOrObject() = default;
  NameOrObject(std::nullptr_t) {}
  // A name, resolved later.
  NameOrObject(const char* name) : value_(std::string(name)) {}
  NameOrObject(std::string name) : value_(std::move(name)) {}
  template <class Object>
  requires(std::convertible_to<Object, Ref<T>> && !std::convertible_to<Object, std::string>)
      NameOrObject(const Object& object)
      : value_(Ref<T>(object)) {}

  // True for none.
  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  // True for a name.
  bool is_name() const { return std::holds_alternative<std::string>(value_); }
  // The name.
  const std::string& name() const { return std::get<std::string>(value_); }
  // The object.
  const Ref<T>& object() const { return std::get<Ref<T>>(value_); }

 private:
  std::variant<std::monostate, std::string, Ref<T>> value_;
};
// A loss: a name or an object.
using LossItem = NameOrObject<Loss>;
// A metric: a name or an object.
using MetricItem = NameOrObject<Metric>;

// A value for every output: one for all, a list in the outputs' order, or a dict by output name.
template <class T>
struct PerOutput {
  enum class Kind { None, All, List, Dict } kind = Kind::None;
  // The values, with the outputs' names in a dict.
  std::vector<std::pair<std::string, T>> items;

  // Adds a value without an output's name.
  void append(T value) { items.emplace_back(std::string(), std::move(value)); }
  // True when nothing was given.
  bool empty() const { return kind == Kind::None; }
};

// compile's loss: "mse", a Loss, a list of either, or {{"label", "mse"}, ...}.
class LossArgument : public PerOutput<LossItem> {
 public:
  LossArgument() = default;
  LossArgument(std::nullptr_t) {}
  LossArgument(const char* name) : LossArgument(LossItem(name)) {}
  LossArgument(std::string name) : LossArgument(LossItem(std::move(name))) {}
  template <class Object>
  requires(std::convertible_to<Object, Ref<Loss>> && !std::convertible_to<Object, std::string>)
      LossArgument(const Object& object)
      : LossArgument(LossItem(object)) {}
  LossArgument(std::initializer_list<LossItem> losses) : LossArgument(std::vector<LossItem>(losses)) {}
  LossArgument(std::initializer_list<std::pair<std::string, LossItem>> losses)
      : LossArgument(std::vector<std::pair<std::string, LossItem>>(losses)) {}
  explicit LossArgument(LossItem loss) {
    kind = loss.empty() ? Kind::None : Kind::All;
    append(std::move(loss));
  }
  explicit LossArgument(std::vector<LossItem> losses) {
    kind = Kind::List;
    for (LossItem& loss : losses) append(std::move(loss));
  }
  explicit LossArgument(std::vector<std::pair<std::string, LossItem>> losses) {
    kind = Kind::Dict;
    items = std::move(losses);
  }
};

// The weight of each output's loss in the total.
class LossWeights : public PerOutput<double> {
 public:
  LossWeights() = default;
  LossWeights(std::nullptr_t) {}
  LossWeights(std::initializer_list<double> weights) : LossWeights(std::vector<double>(weights)) {}
  LossWeights(std::initializer_list<std::pair<std::string, double>> weights) {
    kind = Kind::Dict;
    items = weights;
  }
  explicit LossWeights(const std::vector<double>& weights) {
    kind = Kind::List;
    for (double weight : weights) append(weight);
  }
};

// compile's metrics: {"accuracy", ...} for a model of one output; per output by lists or a dict.
class MetricsArgument : public PerOutput<std::vector<MetricItem>> {
 public:
  // The metrics of one output.
  using Items = std::vector<MetricItem>;
  MetricsArgument() = default;
  MetricsArgument(std::nullptr_t) {}
  MetricsArgument(std::initializer_list<MetricItem> metrics) : MetricsArgument(Items(metrics)) {}
  MetricsArgument(std::initializer_list<std::pair<std::string, Items>> metrics) {
    kind = Kind::Dict;
    items = metrics;
  }
  explicit MetricsArgument(Items metrics) {
    kind = metrics.empty() ? Kind::None : Kind::All;
    append(std::move(metrics));
  }
  // A list of metrics for each output, in the outputs' order.
  static MetricsArgument per_output(std::vector<Items> metrics) {
    MetricsArgument argument;
    argument.kind = Kind::List;
    for (Items& each : metrics) argument.append(std::move(each));
    return argument;
  }
};

// What Model::compile takes.
struct CompileOptions {
  // An optimizer object, or the name of one with default arguments.
  Ref<Optimizer> optimizer = "rmsprop";
  // "mse", a Loss, a list with one for each output, or {{"label", "mse"}, ...} by output name; none: only add_loss and
  // regularizers.
  LossArgument loss = {};
  // Factor of each output's loss in the total: a list, or a dict by output name; none: 1 each.
  LossWeights loss_weights = {};
  // Metrics that ignore sample weights: {"accuracy", ...}, or lists by output name.
  MetricsArgument metrics = {};
  // Metrics that count samples by their weights, as sample_weight and class_weight give them.
  MetricsArgument weighted_metrics = {};
  // Run the steps' code line by line instead of as a compiled graph: slow, for debugging.
  bool run_eagerly = false;
  // Batches that run between two batch hooks of callbacks, at least 1.
  std::int64_t steps_per_execution = 1;
  bool jit_compile = false;  // accepted as Keras does; every step is compiled here
  // Under the policy "mixed_float16", wrap the optimizer in a LossScaleOptimizer.
  bool auto_scale_loss = true;
};

}  // namespace cohort
