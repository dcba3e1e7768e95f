#include <cmath>

#include "cohort/config/rare_fields.h"
#include "cohort/core/error.h"
#include "cohort/saving/config_json.h"
#include "cohort/saving/json/layer_json.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_list(const Shape& shape) {
  Json list = Json::array();
  for (std::int64_t size : shape) list.push_back(size == kUnknown ? Json(nullptr) : Json(size));
  return list;
}

class Writer : public FieldVisitor, public RareFieldVisitor {
 public:
  explicit Writer(const Configurable& object) : object_(object) {}
  Json take() { return std::move(config_); }

  void field(const char* name, bool& value) override { config_[name] = value; }
  void field(const char* name, std::int64_t& value) override { config_[name] = value; }
  void field(const char* name, double& value) override { config_[name] = finite(name, value); }
  void field(const char* name, std::string& value) override {
    const bool policy = object_.writes_dtype_policy() && std::string_view(name) == "dtype";
    config_[name] = policy ? policy_to_json(value) : Json(value);
  }
  void field(const char* name, DType& value) override {
    std::string text(to_string(value));
    field(name, text);
  }
  void field(const char* name, Shape& value) override { config_[name] = to_list(value); }
  void field(const char* name, std::vector<std::int64_t>& value) override { config_[name] = value; }
  void field(const char* name, std::vector<double>& value) override { config_[name] = finite(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { config_[name] = value; }
  void rare_field(const char* name, NestedLists& value) override { config_[name] = value; }
  void rare_field(const char* name, NestedNumbers& value) override { config_[name] = nested_to_json(value); }
  void rare_field(const char* name, std::optional<NestedNumbers>& value) override {
    config_[name] = value ? nested_to_json(*value) : Json(nullptr);
  }
  void rare_field(const char* name, std::optional<NumberDict>& value) override { config_[name] = or_null(value); }
  void rare_field(const char* name, std::optional<AttributeValue>& value) override {
    config_[name] = value ? attribute_to_json(*value) : Json(nullptr);
  }
  void field(const char* name, std::optional<bool>& value) override { config_[name] = or_null(value); }
  void field(const char* name, std::optional<std::int64_t>& value) override { config_[name] = or_null(value); }
  void field(const char* name, std::optional<double>& value) override {
    config_[name] = value ? Json(finite(name, *value)) : Json(nullptr);
  }
  void field(const char* name, std::optional<std::string>& value) override { config_[name] = or_null(value); }
  void field(const char* name, std::optional<Shape>& value) override {
    config_[name] = value ? to_list(*value) : Json(nullptr);
  }
  void field(const char* name, std::optional<std::vector<std::int64_t>>& value) override {
    config_[name] = or_null(value);
  }
  void field(const char* name, std::optional<std::vector<double>>& value) override {
    config_[name] = value ? Json(finite(name, *value)) : Json(nullptr);
  }
  void field(const char* name, RefField& value) override { config_[name] = object_to_json(value.get()); }
  void field(const char* name, RefListField& values) override {
    Json list = Json::array();
    for (std::size_t i = 0; i < values.size(); ++i) list.push_back(object_to_json(values.get(i)));
    config_[name] = std::move(list);
  }
  void field(const char* name, double& number, RefField& object) override {
    config_[name] = object.get() ? object_to_json(object.get()) : Json(finite(name, number));
  }

 private:
  // JSON has no word for infinities and NaN; writing null instead would read back as None.
  double finite(const char* name, double value) const {
    if (!std::isfinite(value)) {
      throw invalid_argument(object_.class_name(), "numbers of a config must be finite to be saved", {{name, value}});
    }
    return value;
  }
  const std::vector<double>& finite(const char* name, const std::vector<double>& values) const {
    for (double value : values) finite(name, value);
    return values;
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
  Writer writer(object);
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
