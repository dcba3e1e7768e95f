#include <algorithm>
#include <limits>

#include "cohort/config/rare_fields.h"
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
constexpr std::size_t kShownLength = 100;

class Reader : public FieldVisitor, public RareFieldVisitor {
 public:
  Reader(const Configurable& object, const Json& config, int depth)
      : who_(object.class_name()), config_(config), depth_(depth) {}

  bool reads_config() const override { return true; }
  void field(const char* name, bool& value) override { read(name, value, &Reader::boolean); }
  void field(const char* name, std::int64_t& value) override { read(name, value, &Reader::integer); }
  void field(const char* name, double& value) override { read(name, value, &Reader::number); }
  void field(const char* name, std::string& value) override { read(name, value, &Reader::text); }
  void field(const char* name, DType& value) override { read(name, value, &Reader::dtype); }
  void field(const char* name, Shape& value) override { read(name, value, &Reader::shape); }
  void field(const char* name, std::vector<std::int64_t>& value) override { read(name, value, &Reader::integers); }
  void field(const char* name, std::vector<double>& value) override { read(name, value, &Reader::numbers); }
  void field(const char* name, std::vector<std::string>& value) override { read(name, value, &Reader::texts); }
  void rare_field(const char* name, NestedLists& value) override { read(name, value, &Reader::lists_of_integers); }
  void rare_field(const char* name, NestedNumbers& value) override { read(name, value, &Reader::array); }
  void rare_field(const char* name, std::optional<NestedNumbers>& value) override { read(name, value, &Reader::array); }
  void rare_field(const char* name, std::optional<NumberDict>& value) override { read(name, value, &Reader::dict); }
  void rare_field(const char* name, std::optional<AttributeValue>& value) override {
    read(name, value, &Reader::anything);
  }
  void field(const char* name, std::optional<bool>& value) override { read(name, value, &Reader::boolean); }
  void field(const char* name, std::optional<std::int64_t>& value) override { read(name, value, &Reader::integer); }
  void field(const char* name, std::optional<double>& value) override { read(name, value, &Reader::number); }
  void field(const char* name, std::optional<std::string>& value) override { read(name, value, &Reader::text); }
  void field(const char* name, std::optional<Shape>& value) override { read(name, value, &Reader::shape); }
  void field(const char* name, std::optional<std::vector<std::int64_t>>& value) override {
    read(name, value, &Reader::integers);
  }
  void field(const char* name, std::optional<std::vector<double>>& value) override {
    read(name, value, &Reader::numbers);
  }
  void field(const char* name, RefField& value) override {
    if (const Json* json = take(name)) read_ref(value, *json, who_, name, depth_ + 1);
  }
  void field(const char* name, RefListField& values) override {
    const Json* json = take(name);
    if (!json) return;
    if (!json->is_array()) refuse(name, "a list of objects", *json);
    values.clear();
    for (const Json& each : *json) {
      values.append();
      read_ref(values.back(), each, who_, name, depth_ + 1);
    }
  }
  void field(const char* name, double& number, RefField& object) override {
    const Json* json = take(name);
    if (!json) return;
    if (json->is_number()) {
      number = this->number(name, *json);
      object.reset();
    } else if (json->is_object() || json->is_string()) {
      read_ref(object, *json, who_, name, depth_ + 1);
    } else {
      refuse(name, "a number or an object", *json);
    }
  }

  void refuse_unknown(const std::vector<std::string>& ignored) const {
    for (const auto& [key, value] : config_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end() &&
          std::find(ignored.begin(), ignored.end(), key) == ignored.end()) {
        throw invalid_argument(who_, "the config must hold fields of this class only",
                               {{"key", in_quotes(key)}, {"value", shown(value)}},
                               "Known fields: " + join(known_) + ".");
      }
    }
  }

 private:
  // The field's value, or nullptr when the config does not mention it.
  const Json* take(const char* name) {
    known_.push_back(name);
    const auto found = config_.find(name);
    return found == config_.end() ? nullptr : &*found;
  }
  template <class T>
  void read(const char* name, T& value, T (Reader::*convert)(const char*, const Json&) const) {
    if (const Json* json = take(name)) value = (this->*convert)(name, *json);
  }
  template <class T>
  void read(const char* name, std::optional<T>& value, T (Reader::*convert)(const char*, const Json&) const) {
    const Json* json = take(name);
    if (!json) return;
    if (json->is_null()) {
      value.reset();
    } else {
      value = (this->*convert)(name, *json);
    }
  }

  bool boolean(const char* name, const Json& json) const {
    if (!json.is_boolean()) refuse(name, "true or false", json);
    return json.get<bool>();
  }
  std::int64_t integer(const char* name, const Json& json) const {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest)) {
      refuse(name, "an integer of 64 bits", json);
    }
    return json.get<std::int64_t>();
  }
  double number(const char* name, const Json& json) const {
    if (!json.is_number()) refuse(name, "a number", json);
    return json.get<double>();
  }
  std::string text(const char* name, const Json& json) const {
    if (std::string_view(name) == "dtype" && json.is_object()) return policy_name(name, json);
    if (!json.is_string()) refuse(name, "a string", json);
    return json.get<std::string>();
  }
  std::string policy_name(const char* name, const Json& json) const {
    if (is_object_json(json) && json["class_name"] == "DTypePolicy") {
      const Json& config = json["config"];
      if (config.is_object() && config.contains("name") && config["name"].is_string()) {
        return config["name"].get<std::string>();
      }
    }
    refuse(name, "the name of an element type or a DTypePolicy", json);
  }
  // A name, or a DTypePolicy object around it.
  DType dtype(const char* name, const Json& json) const {
    return dtype_from_string(json.is_string() ? json.get<std::string>() : policy_name(name, json));
  }
  Shape shape(const char* name, const Json& json) const {
    constexpr const char* kExpected = "a list of at most 8 sizes of 0 or more, null where unknown";
    if (!json.is_array() || json.size() > Shape::kMaxRank) refuse(name, kExpected, json);
    Shape shape;
    for (const Json& size : json) {
      const std::int64_t value = size.is_null() ? kUnknown : integer(name, size);
      if (!size.is_null() && value < 0) refuse(name, kExpected, json);
      shape.push_back(value);
    }
    return shape;
  }
  // Keras writes one axis or one threshold as a plain number.
  std::vector<std::int64_t> integers(const char* name, const Json& json) const {
    if (json.is_number_integer()) return {integer(name, json)};
    if (!json.is_array()) refuse(name, "a list of integers", json);
    std::vector<std::int64_t> values;
    for (const Json& each : json) values.push_back(integer(name, each));
    return values;
  }
  NumberDict dict(const char* name, const Json& json) const {
    if (!json.is_object()) refuse(name, "a dict of numbers", json);
    NumberDict values;
    for (const auto& [key, value] : json.items()) {
      if (!value.is_null()) values[key] = number(name, value);
    }
    return values;
  }
  NestedNumbers array(const char*, const Json& json) const { return nested_from_json(json, who_); }
  AttributeValue anything(const char*, const Json& json) const { return attribute_from_json(json, who_); }
  NestedLists lists_of_integers(const char* name, const Json& json) const {
    if (json.is_number_integer()) return {{integer(name, json)}};
    if (!json.is_array()) refuse(name, "a list of lists of integers", json);
    NestedLists values;
    for (const Json& each : json) values.push_back(integers(name, each));
    return values;
  }
  std::vector<double> numbers(const char* name, const Json& json) const {
    if (json.is_number()) return {number(name, json)};
    // A list that Keras keeps as a tensor.
    if (json.is_object() && json.value("class_name", Json()) == "__tensor__" && json.contains("config")) {
      return numbers(name, json["config"].value("value", Json()));
    }
    if (!json.is_array()) refuse(name, "a list of numbers", json);
    std::vector<double> values;
    for (const Json& each : json) values.push_back(number(name, each));
    return values;
  }
  std::vector<std::string> texts(const char* name, const Json& json) const {
    if (json.is_object() && json.empty()) return {};
    if (!json.is_array()) refuse(name, "a list of strings", json);
    std::vector<std::string> values;
    for (const Json& each : json) values.push_back(text(name, each));
    return values;
  }

  [[noreturn]] void refuse(const char* name, const std::string& expected, const Json& json) const {
    throw invalid_argument(who_, std::string("'") + name + "' must be " + expected, {{name, shown(json)}});
  }

  std::string who_;
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

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownLength) text = text.substr(0, kShownLength) + "...";
  return text;
}

bool is_object_json(const Json& value) {
  return value.is_object() && value.contains("class_name") && value["class_name"].is_string() &&
         value.contains("config");
}

std::string registered_name(const Json& object) {
  if (!is_object_json(object)) {
    throw invalid_argument("registered_name", "an object with class_name and config is expected",
                           {{"value", shown(object)}});
  }
  const std::string name = object["class_name"].get<std::string>(), module = string_or_empty(object, "module");
  // Op layers share their class names with layers.
  if (module.starts_with("keras.src.ops.") || module.starts_with("keras.src.activations.")) return module + ">" + name;
  const std::string registered = string_or_empty(object, "registered_name");
  return registered.find('>') != std::string::npos ? registered : name;
}

void read_config(Configurable& object, const Json& config, int depth) {
  if (depth > kMaxDepth) {
    throw invalid_argument(object.class_name(), "objects may be nested 100 deep", {{"depth", depth}});
  }
  if (!config.is_object()) {
    throw invalid_argument(object.class_name(), "the config must be a JSON object", {{"config", shown(config)}});
  }
  Reader reader(object, config, depth);
  object.visit_fields(reader);
  reader.refuse_unknown(object.ignored_fields());
  object.fields_changed();
}

namespace {

// An object of the class that a file names; tells how a class becomes known.
Configurable& make_registered(RefField& field, const std::string& class_name, std::string_view who) {
  try {
    return *field.make(class_name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    throw not_found(who, "a registered class is expected", {{"class_name", class_name}},
                    "A class of one's own is registered by COHORT_REGISTER(Family, Class, \"package>Name\").");
  }
}

}  // namespace

void read_ref(RefField& field, const Json& value, std::string_view who, std::string_view name, int depth) {
  if (value.is_null()) {
    field.reset();
  } else if (value.is_string()) {
    field.make(value.get<std::string>());
  } else if (is_object_json(value)) {
    const Json& config = value["config"];
    if (value["class_name"] == "function" && config.is_string()) {  // how Keras writes a bare function
      field.make(config.get<std::string>());
    } else if (value["class_name"] == "__lambda__") {
      throw unimplemented(who, in_quotes(name) + " must be a function that is registered by name",
                          {{name, "__lambda__"}},
                          "Python code in a file is never run, whatever safe_mode is. Register the function with "
                          "COHORT_REGISTER_FUNCTION, and save the model with a function of that name.");
    } else if (const Ref<Model> model = model_in_config(value, depth)) {
      if (!field.set(model.shared())) {
        throw invalid_argument(who, "'" + std::string(name) + "' cannot be a model", {{name, shown(value)}});
      }
    } else {
      read_config(make_registered(field, registered_name(value), who), config, depth);
    }
  } else {
    throw invalid_argument(who, in_quotes(name) + " must be an object, a registered name or null",
                           {{name, shown(value)}});
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
