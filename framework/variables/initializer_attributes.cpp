#include "cohort/variables/initializer_attributes.h"

#include <algorithm>

#include "cohort/core/random.h"

namespace cohort {
namespace {

// Attributes have no null: the names of the fields that are.
constexpr const char* kNullFields = "null_fields";
std::string key_of(const char* name) { return std::string("field.") + name; }

// The values as a list of one type; none when they are of several.
template <class T>
std::optional<AttributeValue> attribute_list(const ConfigValue::List& values) {
  std::vector<T> list;
  for (const ConfigValue& each : values) {
    if (const T* value = each.get<T>()) list.push_back(*value);
  }
  if (list.size() != values.size()) return std::nullopt;
  return list;
}

// None for what cannot be an attribute: an object, an array, lists of lists.
std::optional<AttributeValue> attribute_of(const ConfigValue& value) {
  if (const auto* truth = value.get<bool>()) return *truth;
  if (const auto* integer = value.get<std::int64_t>()) return *integer;
  if (const auto* number = value.get<double>()) return *number;
  if (const auto* text = value.get<std::string>()) return *text;
  const auto* list = value.get<ConfigValue::List>();
  if (!list) return std::nullopt;
  if (auto integers = attribute_list<std::int64_t>(*list)) return integers;
  if (auto numbers = attribute_list<double>(*list)) return numbers;
  return attribute_list<std::string>(*list);
}

class AttributeWriter : public FieldVisitor {
 public:
  AttributeWriter(std::string who, Attributes& attributes) : FieldVisitor(std::move(who)), attributes_(attributes) {}
  bool complete() const { return complete_; }

 protected:
  void write(const char* name, const ConfigValue& value) override {
    if (value.is_null()) {
      if (std::string_view(name) == "seed") {
        attributes_.set(key_of(name), AttributeValue(static_cast<std::int64_t>(next_op_seed())));
      } else {
        null_fields_.push_back(name);
        attributes_.set(kNullFields, AttributeValue(null_fields_));
      }
      return;
    }
    const std::optional<AttributeValue> attribute = attribute_of(value);
    if (attribute) attributes_.set(key_of(name), *attribute);
    complete_ = complete_ && attribute.has_value();
  }

 private:
  Attributes& attributes_;
  std::vector<std::string> null_fields_;
  bool complete_ = true;
};

struct ConfigValueOf {
  template <class T>
  ConfigValue operator()(const T& value) const {
    return value;
  }
  template <class T>
  ConfigValue operator()(const std::vector<T>& values) const {
    return ConfigValue::List(values.begin(), values.end());
  }
  ConfigValue operator()(const DType& dtype) const { return std::string(to_string(dtype)); }
  ConfigValue operator()(const Shape& shape) const { return FieldCodec<Shape>::to(shape); }
  ConfigValue operator()(const Tensor& tensor) const { return AttributeValue(tensor); }
  ConfigValue operator()(const std::shared_ptr<const Graph>& graph) const { return AttributeValue(graph); }
};

class AttributeReader : public FieldVisitor {
 public:
  explicit AttributeReader(const Attributes& attributes)
      : FieldVisitor("InitialValue"),
        attributes_(attributes),
        null_fields_(attributes.get<std::vector<std::string>>(kNullFields, {})) {}
  bool reads_config() const override { return true; }

 protected:
  std::optional<ConfigValue> read(const char* name) override {
    if (const AttributeValue* value = attributes_.find(key_of(name))) return std::visit(ConfigValueOf(), *value);
    if (std::find(null_fields_.begin(), null_fields_.end(), name) != null_fields_.end()) return ConfigValue();
    return std::nullopt;
  }

 private:
  const Attributes& attributes_;
  const std::vector<std::string> null_fields_;
};

}  // namespace

std::optional<Attributes> write_initializer(const Initializer& initializer) {
  Attributes attributes{{"class", initializer.class_name()}};
  AttributeWriter writer(initializer.class_name(), attributes);
  const_cast<Initializer&>(initializer).visit_fields(writer);  // a writer only reads what it is shown
  if (!writer.complete()) return std::nullopt;
  return attributes;
}

std::shared_ptr<Initializer> read_initializer(const Attributes& attributes) {
  std::shared_ptr<Initializer> initializer = Initializer::from_name(attributes.get<std::string>("class"));
  AttributeReader reader(attributes);
  initializer->visit_fields(reader);
  initializer->fields_changed();
  return initializer;
}

Tensor compute_initial_value(const Attributes& attributes) {
  const auto shape = attributes.get<Shape>("shape");
  const Tensor whole = (*read_initializer(attributes))(shape, attributes.get<DType>("dtype"));
  if (shape.rank() == 0 || attributes.get<std::int64_t>("rows") == shape[0]) return whole;
  return whole.rows(attributes.get<std::int64_t>("first_row"), attributes.get<std::int64_t>("rows")).clone();
}

}  // namespace cohort
