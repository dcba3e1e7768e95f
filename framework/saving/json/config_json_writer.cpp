#include <cmath>

#include "cohort/core/error.h"
#include "cohort/saving/config_json.h"
#include "cohort/saving/json/layer_json.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

class ConfigWriter : public FieldVisitor {
 public:
  explicit ConfigWriter(const Configurable& object) : FieldVisitor(object.class_name()), object_(object) {}
  Json take() { return std::move(config_); }

 protected:
  void write(const char* name, const ConfigValue& value) override {
    const auto* text = value.get<std::string>();
    const bool policy = text && object_.writes_dtype_policy() && std::string_view(name) == "dtype";
    config_[name] = policy ? policy_to_json(*text) : to_json(name, value);
  }

 private:
  Json to_json(const char* name, const ConfigValue& value) const {
    return std::visit([&](const auto& held) { return to_json(name, held); }, value.held());
  }
  Json to_json(const char*, std::monostate) const { return nullptr; }
  Json to_json(const char*, bool value) const { return value; }
  Json to_json(const char*, std::int64_t value) const { return value; }
  Json to_json(const char* name, double value) const {
    // JSON has no word for infinities and NaN; writing null instead would read back as None.
    if (!std::isfinite(value)) {
      throw invalid_argument(who_, "numbers of a config must be finite to be saved", {{name, value}});
    }
    return value;
  }
  Json to_json(const char*, const std::string& value) const { return value; }
  Json to_json(const char* name, const ConfigValue::List& values) const {
    Json list = Json::array();
    for (const ConfigValue& each : values) list.push_back(to_json(name, each));
    return list;
  }
  Json to_json(const char* name, const ConfigValue::Dict& values) const {
    Json dict = Json::object();
    for (const auto& [key, each] : values) dict[key] = to_json(name, each);
    return dict;
  }
  Json to_json(const char*, const std::shared_ptr<const NestedNumbers>& numbers) const {
    return nested_to_json(*numbers);
  }
  Json to_json(const char*, const std::shared_ptr<const AttributeValue>& value) const {
    return attribute_to_json(*value);
  }
  Json to_json(const char*, const Configurable* object) const { return object_to_json(object); }
  Json to_json(const char* name, const std::shared_ptr<const ConfigObject>& object) const {
    throw invalid_argument(who_, "an object that is made is expected", {{name, object->to_string()}});
  }

  const Configurable& object_;
  Json config_ = Json::object();
};

}  // namespace

Json policy_to_json(const std::string& name) {
  return Json{
      {"module", "keras"}, {"class_name", "DTypePolicy"}, {"config", {{"name", name}}}, {"registered_name", nullptr}};
}

Json config_json(const Configurable& object) {
  ConfigWriter writer(object);
  const_cast<Configurable&>(object).visit_fields(writer);  // a writer changes nothing
  return writer.take();
}

Json object_to_json(const Configurable* object) {
  if (!object) return nullptr;
  if (const auto* model = dynamic_cast<const Model*>(object)) return layer_to_json(*model);
  if (std::string name = object->short_name(); !name.empty()) return name;
  const std::string full_name = object->class_name(), module = object->module_name();
  if (module == "builtins") {  // a function, known by its name alone
    return Json{{"module", module}, {"class_name", "function"}, {"config", full_name}, {"registered_name", "function"}};
  }
  const std::string name = full_name.substr(full_name.rfind('>') + 1);
  Json json;
  json["module"] = module.empty() ? Json(nullptr) : Json(module);
  json["class_name"] = name;
  json["config"] = config_json(*object);
  // Keras leaves the name out for its public classes only.
  if (module.empty()) {
    json["registered_name"] = full_name;
  } else {
    json["registered_name"] = module.starts_with("keras.src.") ? Json(name) : Json(nullptr);
  }
  return json;
}

std::string dump_json(const Json& value) {
  try {
    return value.dump(-1, ' ', /*ensure_ascii=*/true);
  } catch (const Json::exception& error) {
    throw invalid_argument("to_json", "strings must be UTF-8", {{"error", error.what()}});
  }
}

std::string to_json(const Configurable& object) { return dump_json(object_to_json(&object)); }

std::string config_to_json(const Configurable& object) { return dump_json(config_json(object)); }

}  // namespace cohort
