#include <algorithm>
#include <string>
#include <type_traits>

#include "cohort/core/error.h"
#include "cohort/saving/json/compile_json.h"

namespace cohort {
namespace {

constexpr const char* kCompileConfig = "compile_config";

template <class T>
Json item_to_json(const NameOrObject<T>& item) {
  if (item.empty()) return nullptr;
  return item.is_name() ? Json(item.name()) : object_to_json(item.object().get());
}
Json item_to_json(double value) { return value; }
Json item_to_json(const std::vector<MetricItem>& items) {
  Json list = Json::array();
  for (const MetricItem& item : items) list.push_back(item_to_json(item));
  return list;
}

template <class T>
Json per_output_to_json(const PerOutput<T>& argument) {
  using Kind = typename PerOutput<T>::Kind;
  if (argument.kind == Kind::None) return nullptr;
  if (argument.kind == Kind::All) return item_to_json(argument.items.at(0).second);
  Json result = argument.kind == Kind::Dict ? Json::object() : Json::array();
  for (const auto& [name, item] : argument.items) {
    if (argument.kind == Kind::Dict) {
      result[name] = item_to_json(item);
    } else {
      result.push_back(item_to_json(item));
    }
  }
  return result;
}

template <class T>
NameOrObject<T> item_from_json(const Json& value, const char* name) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  Ref<T> object;
  detail::RefFieldOf<T> field(object);
  read_ref(field, value, kCompileConfig, name);
  return object;
}

std::vector<MetricItem> metrics_from_json(const Json& value, const char* name) {
  std::vector<MetricItem> items;
  if (value.is_null()) return items;
  if (!value.is_array()) return {item_from_json<Metric>(value, name)};
  for (const Json& each : value) items.push_back(item_from_json<Metric>(each, name));
  return items;
}

MetricsArgument metrics_argument(const Json& value, const char* name) {
  if (value.is_object() && !is_object_json(value)) {
    MetricsArgument argument;
    argument.kind = MetricsArgument::Kind::Dict;
    for (const auto& [output, items] : value.items())
      argument.items.emplace_back(output, metrics_from_json(items, name));
    return argument;
  }
  const bool nested =
      value.is_array() && std::any_of(value.begin(), value.end(), [](const Json& each) { return each.is_array(); });
  if (!nested) return MetricsArgument(metrics_from_json(value, name));
  std::vector<MetricsArgument::Items> per_output;
  for (const Json& each : value) per_output.push_back(metrics_from_json(each, name));
  return MetricsArgument::per_output(std::move(per_output));
}

LossArgument loss_argument(const Json& value) {
  if (value.is_array()) {
    std::vector<LossItem> items;
    for (const Json& each : value) items.push_back(item_from_json<Loss>(each, "loss"));
    return LossArgument(std::move(items));
  }
  if (value.is_object() && !is_object_json(value)) {
    std::vector<std::pair<std::string, LossItem>> items;
    for (const auto& [output, each] : value.items()) items.emplace_back(output, item_from_json<Loss>(each, "loss"));
    return LossArgument(std::move(items));
  }
  return LossArgument(item_from_json<Loss>(value, "loss"));
}

double number(const Json& value, const char* name) {
  if (!value.is_number()) throw invalid_argument(kCompileConfig, "a number is expected", {{name, excerpt(value)}});
  return value.get<double>();
}

LossWeights loss_weights(const Json& value) {
  LossWeights weights;
  if (value.is_array()) {
    weights.kind = LossWeights::Kind::List;
    for (const Json& each : value) weights.append(number(each, "loss_weights"));
  } else if (value.is_object()) {
    weights.kind = LossWeights::Kind::Dict;
    for (const auto& [output, each] : value.items()) weights.items.emplace_back(output, number(each, "loss_weights"));
  } else if (!value.is_null()) {
    weights.kind = LossWeights::Kind::List;
    weights.append(number(value, "loss_weights"));
  }
  return weights;
}

}  // namespace

Json compile_to_json(const CompileOptions& options) {
  return Json{{"optimizer", object_to_json(options.optimizer.get())},
              {"loss", per_output_to_json(options.loss)},
              {"loss_weights", per_output_to_json(options.loss_weights)},
              {"metrics", per_output_to_json(options.metrics)},
              {"weighted_metrics", per_output_to_json(options.weighted_metrics)},
              {"run_eagerly", options.run_eagerly},
              {"steps_per_execution", options.steps_per_execution},
              {"jit_compile", options.jit_compile}};
}

CompileOptions compile_from_json(const Json& config) {
  if (!config.is_object())
    throw invalid_argument(kCompileConfig, "an object is expected", {{"compile_config", excerpt(config)}});
  const auto at = [&](const char* key) { return config.contains(key) ? config[key] : Json(); };
  CompileOptions options{.optimizer = nullptr};
  detail::RefFieldOf<Optimizer> optimizer(options.optimizer);
  read_ref(optimizer, at("optimizer"), kCompileConfig, "optimizer");
  options.loss = loss_argument(at("loss"));
  options.loss_weights = loss_weights(at("loss_weights"));
  options.metrics = metrics_argument(at("metrics"), "metrics");
  options.weighted_metrics = metrics_argument(at("weighted_metrics"), "weighted_metrics");
  options.run_eagerly = at("run_eagerly").is_boolean() && at("run_eagerly").get<bool>();
  // Keras writes "auto" or a boolean.
  options.jit_compile = at("jit_compile").is_boolean() && at("jit_compile").get<bool>();
  if (const Json steps = at("steps_per_execution"); steps.is_number_integer()) {
    options.steps_per_execution = steps.get<std::int64_t>();
  }
  return options;
}

}  // namespace cohort
