#include <algorithm>
#include <limits>

#include "cohort/config/excerpt.h"
#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/saving/config_json.h"
#include "cohort/saving/json/layer_json.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

// Deeper than any model: wrappers in wrappers from a hostile file must not exhaust the stack.
constexpr int kMaxDepth = 100;
// Of lists and dicts in a text: copying or printing a value goes down by recursion.
constexpr int kMaxTextDepth = 250;

// An object that stands in a config, as its JSON, which outlives it.
class JsonObject : public ConfigObject {
 public:
  JsonObject(const Json& json, std::string who, std::string name, int depth)
      : json_(json), who_(std::move(who)), name_(std::move(name)), depth_(depth) {}
  void make(RefField& field) const override { read_ref(field, json_, who_, name_, depth_); }
  std::string to_string() const override { return excerpt(json_); }

 private:
  const Json& json_;
  std::string who_, name_;
  int depth_;
};

class ConfigReader : public FieldVisitor {
 public:
  ConfigReader(const Configurable& object, const Json& config, int depth)
      : FieldVisitor(object.class_name()), config_(config), depth_(depth) {}

  bool reads_config() const override { return true; }

  void refuse_unknown(const std::vector<std::string>& ignored) const {
    for (const auto& [key, value] : config_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end() &&
          std::find(ignored.begin(), ignored.end(), key) == ignored.end()) {
        throw invalid_argument(who_, "the config must hold fields of this class only",
                               {{"key", in_quotes(key)}, {"value", excerpt(value)}},
                               "Known fields: " + join(known_) + ".");
      }
    }
  }

 protected:
  std::optional<ConfigValue> read(const char* name) override {
    const Json* json = take(name);
    if (!json) return std::nullopt;
    const bool is_policy = is_object_json(*json) && (*json)["class_name"] == "DTypePolicy";
    if (is_policy || (json->is_object() && std::string_view(name) == "dtype")) return policy_name(name, *json);
    return to_value(name, *json);
  }
  std::optional<ConfigValue> read_attribute(const char* name) override {
    const Json* json = take(name);
    if (!json) return std::nullopt;
    return json->is_null() ? ConfigValue() : ConfigValue(attribute_from_json(*json, who_));
  }

 private:
  // The field's value, or nullptr when the config does not mention it.
  const Json* take(const char* name) {
    known_.push_back(name);
    const auto found = config_.find(name);
    return found == config_.end() ? nullptr : &*found;
  }
  std::string policy_name(const char* name, const Json& json) const {
    if (is_object_json(json) && json["class_name"] == "DTypePolicy") {
      const Json& config = json["config"];
      if (config.is_object() && config.contains("name") && config["name"].is_string()) {
        return config["name"].get<std::string>();
      }
    }
    throw invalid_argument(who_, std::string("'") + name + "' must be the name of an element type or a DTypePolicy",
                           {{name, excerpt(json)}});
  }
  ConfigValue to_value(const char* name, const Json& json) const {
    return value_from_json(json, [&](const Json& object) -> ConfigValue {
      if (is_tensor_json(object)) return nested_from_json(object, who_);
      return ConfigValue(std::make_shared<const JsonObject>(object, who_, name, depth_ + 1));
    });
  }

  const Json& config_;
  int depth_;
  std::vector<std::string> known_;
};

std::string string_or_empty(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view who) {
  try {
    return Json::parse(text, [who](int depth, Json::parse_event_t, const Json&) {
      if (depth > kMaxTextDepth) {
        throw invalid_argument(who, "JSON may be nested " + std::to_string(kMaxTextDepth) + " deep");
      }
      return true;
    });
  } catch (const Json::exception& error) {
    throw invalid_argument(who, "text in JSON is expected", {{"error", error.what()}});
  }
}

std::string excerpt(const Json& value) {
  return cut_to_excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool is_object_json(const Json& value) {
  return value.is_object() && value.contains("class_name") && value["class_name"].is_string() &&
         value.contains("config");
}

std::string registered_name(const Json& object) {
  if (!is_object_json(object)) {
    throw invalid_argument("registered_name", "an object with class_name and config is expected",
                           {{"value", excerpt(object)}});
  }
  const std::string name = object["class_name"].get<std::string>(), module = string_or_empty(object, "module");
  // Op layers share their class names with layers.
  if (module.starts_with("keras.src.ops.") || module.starts_with("keras.src.activations.")) return module + ">" + name;
  const std::string registered = string_or_empty(object, "registered_name");
  return registered.find('>') != std::string::npos ? registered : name;
}

ConfigValue value_from_json(const Json& json, const std::function<ConfigValue(const Json&)>& object) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    ConfigValue::List list;
    list.reserve(json.size());
    for (const Json& each : json) list.push_back(value_from_json(each, object));
    return list;
  }
  if (object && is_object_json(json)) return object(json);
  ConfigValue::Dict dict;
  dict.reserve(json.size());
  for (const auto& [key, value] : json.items()) dict.emplace_back(key, value_from_json(value, object));
  return dict;
}

void read_config(Configurable& object, const Json& config, int depth) {
  if (depth > kMaxDepth) {
    throw invalid_argument(object.class_name(), "objects may be nested 100 deep", {{"depth", depth}});
  }
  if (!config.is_object()) {
    throw invalid_argument(object.class_name(), "the config must be a JSON object", {{"config", excerpt(config)}});
  }
  ConfigReader reader(object, config, depth);
  object.visit_fields(reader);
  reader.refuse_unknown(object.ignored_fields());
  object.fields_changed();
}

void read_ref(RefField& field, const Json& value, std::string_view who, std::string_view name, int depth) {
  if (value.is_null()) return field.reset();
  if (value.is_string()) {
    field.make(value.get<std::string>());
    return;
  }
  if (!is_object_json(value)) {
    throw invalid_argument(who, in_quotes(name) + " must be an object, a registered name or null",
                           {{name, excerpt(value)}});
  }
  const Json& config = value["config"];
  const std::string class_name = value["class_name"];
  if (class_name == "function" && config.is_string()) {  // how Keras writes a bare function
    field.make(config.get<std::string>());
  } else if (class_name == "__lambda__") {
    throw unimplemented(who, in_quotes(name) + " must be a function that is registered by name", {{name, "__lambda__"}},
                        "Python code in a file is never run, whatever safe_mode is. Register the function with "
                        "COHORT_REGISTER_FUNCTION, and save the model with a function of that name.");
  } else if (is_model_class(class_name)) {
    if (!field.set(model_from_object(value, depth + 1).shared())) {
      throw invalid_argument(who, in_quotes(name) + " cannot be a model", {{name, excerpt(value)}});
    }
  } else {
    const std::string registered = registered_name(value);
    Configurable* made = nullptr;
    try {
      made = field.make(registered);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::NotFound) throw;
      throw not_found(who, "a registered class is expected", {{"class_name", registered}},
                      "A class of one's own is registered by COHORT_REGISTER(Family, Class, \"package>Name\").");
    }
    read_config(*made, config, depth);
  }
}

void from_json(Configurable& object, std::string_view json) {
  const Json value = parse_json(json, object.class_name());
  if (!is_object_json(value)) return read_config(object, value);
  if (registered_name(value) != object.class_name()) {
    throw invalid_argument(object.class_name(), "JSON of this class is expected",
                           {{"class_name", registered_name(value)}});
  }
  read_config(object, value["config"]);
}

}  // namespace cohort
