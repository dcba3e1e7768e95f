#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cohort/config/configurable.h"

// JSON values of configs, for loaders and savers inside the framework; not installed.
namespace cohort {

// Keeps the order of keys: files come out as Keras writes them.
using Json = nlohmann::ordered_json;

// Text from outside; throws InvalidArgument naming `who` and the place when it is not JSON.
Json parse_json(std::string_view text, std::string_view who);
// Text for files: ASCII, as Python's json module writes it. Throws for strings that are not UTF-8.
std::string dump_json(const Json& value);
// A value for an error message, cut when it is long.
std::string excerpt(const Json& value);

// The whole object, its short name, or null for nullptr.
Json object_to_json(const Configurable* object);
Json config_json(const Configurable& object);
// Keras's dtype of a layer or model.
Json policy_to_json(const std::string& name);
// True for {"class_name": ..., "config": ...}.
bool is_object_json(const Json& value);
// The name an object's class is registered under: "Dense", "mine>Scale", "keras.src.ops.numpy>Add".
std::string registered_name(const Json& object);

// A call argument that is no tensor. Throws, naming `who`, for what no attribute can hold.
Json attribute_to_json(const AttributeValue& value);
AttributeValue attribute_from_json(const Json& value, std::string_view who);

// Lists of lists of numbers of equal lengths, a number, or a tensor. Throws, naming `who`, for anything else.
Json nested_to_json(const NestedNumbers& numbers);
NestedNumbers nested_from_json(const Json& value, std::string_view who);

// A tensor as Keras writes one: {"class_name": "__numpy__", "config": {"value": ..., "dtype": ...}}.
bool is_tensor_json(const Json& value);
// The value of a field; `object` makes one of {"class_name": ..., "config": ...}, a dict without it.
ConfigValue value_from_json(const Json& json, const std::function<ConfigValue(const Json&)>& object = {});

// Sets the fields of `object` from a config; `depth` counts the objects around it.
void read_config(Configurable& object, const Json& config, int depth = 0);
// Makes what `value` describes (an object, a name or null) in `field`. `who` and `name` are for errors.
void read_ref(RefField& field, const Json& value, std::string_view who, std::string_view name, int depth = 0);

}  // namespace cohort
