#include <cmath>

#include "cohort/losses/loss.h"
#include "cohort/metrics/metric.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/layer/regularizer.h"
#include "cohort/optimizers/optimizer.h"
#include "cohort/variables/constraint.h"
#include "cohort/variables/initializer.h"
#include "tests/golden/case.h"

namespace cohort::golden {
namespace {

bool is_known(const std::string& module, const std::string& name) {
  if (module == "keras.layers") return Layer::registry().has(name);
  if (module == "keras.initializers") return Initializer::registry().has(name);
  if (module == "keras.regularizers") return Regularizer::registry().has(name);
  if (module == "keras.constraints") return Constraint::registry().has(name);
  if (module == "keras.losses") return Loss::registry().has(name);
  if (module == "keras.metrics") return Metric::registry().has(name);
  if (module == "keras.optimizers") return Optimizer::registry().has(name);
  if (module == "keras.optimizers.schedules") return LearningRateSchedule::registry().has(name);
  if (module == "keras.src.models.functional") return true;
  // An operation of a functional model: its reader knows them.
  if (module.starts_with("keras.src.ops.") || module.starts_with("keras.src.activations.")) return true;
  return module == "keras" || module == "builtins";  // DTypePolicy, Sequential, a function by its name
}

}  // namespace

bool same_config(const Json& seen, const Json& expected) {
  if (seen.is_number() && expected.is_number()) {
    const double a = seen.get<double>(), b = expected.get<double>();
    return a == b || std::abs(a - b) <= 1e-12 * std::abs(b);
  }
  // Axes may be one or several; Keras reads a list of one like the number it writes.
  if (seen.is_array() && seen.size() == 1 && expected.is_number()) return same_config(seen[0], expected);
  // Where Keras keeps a list as a tensor it writes one, and reads either.
  if (seen.is_array() && expected.is_object() && expected.value("class_name", Json()) == "__tensor__") {
    return same_config(seen, expected["config"]["value"]);
  }
  if (seen.is_array() && expected.is_array()) {
    if (seen.size() != expected.size()) return false;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (!same_config(seen[i], expected[i])) return false;
    }
    return true;
  }
  if (seen.is_object() && expected.is_object()) {
    // Keras notes the shapes a layer inside another was built for, that a model there was not compiled, that its inputs
    // are plain and that a call had no mask; nobody needs that to make it again.
    const auto is_note = [&](const std::string& key, const Json& value) {
      if (seen.contains(key)) return false;
      if (key == "sparse" || key == "ragged" || key == "optional" || key == "training") return value == false;
      if (key == "mask") return value.is_null();
      if (key == "shared_object_id") return true;  // of objects that are equal anyway
      return key == "build_config" || (key == "compile_config" && value.empty());
    };
    // Arguments that Keras's classes take and their get_config() forgets.
    const auto is_forgotten = [&](const std::string& key) {
      return !expected.contains(key) && (key == "axis" || key == "delta" || key == "gain" || key == "from_sorted_ids");
    };
    std::size_t notes = 0, forgotten = 0;
    for (const auto& [key, value] : expected.items()) notes += is_note(key, value) ? 1 : 0;
    for (const auto& [key, value] : seen.items()) forgotten += is_forgotten(key) ? 1 : 0;
    if (seen.size() + notes != expected.size() + forgotten) return false;
    for (const auto& [key, value] : expected.items()) {
      if (is_note(key, value)) continue;
      if (!seen.contains(key) || !same_config(seen[key], value)) return false;
    }
    return true;
  }
  return seen == expected;
}

void require_registered(const Json& config) {
  if (config.is_object() && config.contains("class_name") && config["class_name"].is_string() &&
      config.contains("module") && config["module"].is_string()) {
    const std::string module = config["module"], name = registered_name(config);
    if (!is_known(module, name)) throw Skipped{"no class " + module + "." + name};
  }
  if (!config.is_structured()) return;
  for (const auto& [key, value] : config.items()) {
    if (value.is_string() && key.ends_with("activation") && !Activation::registry().has(value.get<std::string>())) {
      throw Skipped{"no activation " + value.get<std::string>()};
    }
    require_registered(value);
  }
}

void expect_config(Case& checked, const Configurable& object) {
  const Json seen = config_json(object), expected = checked.json("config"), arguments = checked.arguments();
  for (const auto& [key, value] : expected.items()) {
    if (!seen.contains(key)) {
      checked.fail("config: no key '" + key + "'");
    } else if (!same_config(seen[key], value)) {
      checked.fail("config: '" + key + "' is " + excerpt(seen[key]) + ", expected " + excerpt(value));
    }
  }
  for (const auto& [key, value] : seen.items()) {
    checked.require(expected.contains(key) || arguments.contains(key), "config: Keras has no key '" + key + "'");
  }
}

}  // namespace cohort::golden
