#include <algorithm>

#include "cohort/config/flatten_numbers.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/error.h"
#include "cohort/saving/json/attribute_json.h"

namespace cohort {
namespace {

bool all(const Json& list, bool (Json::*is)() const noexcept) {
  return std::all_of(list.begin(), list.end(), [&](const Json& each) { return (each.*is)(); });
}

// A tensor as nested lists of its numbers.
Json nested(const std::vector<double>& values, const Shape& shape, int axis, std::size_t& next, bool whole) {
  if (axis == shape.rank()) {
    const double value = values[next++];
    return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
  }
  Json::array_t list;
  list.reserve(static_cast<std::size_t>(shape[axis]));
  for (std::int64_t i = 0; i < shape[axis]; ++i) list.push_back(nested(values, shape, axis + 1, next, whole));
  return list;
}

Json tensor_to_json(const Tensor& tensor) {
  const Tensor numbers = run_op("Cast", {tensor}, {{"dtype", DType::Float64}});
  std::size_t next = 0;
  return Json{{"class_name", "__numpy__"},
              {"config",
               {{"value", nested(numbers.to_vector<double>(), tensor.shape(), 0, next, !is_floating(tensor.dtype()))},
                {"dtype", std::string(to_string(tensor.dtype()))}}}};
}

struct JsonNumbers {
  std::string_view who;
  const Json::array_t* list(const Json& value) const { return value.get_ptr<const Json::array_t*>(); }
  std::optional<double> number(const Json& value) const {
    if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  [[noreturn]] void refuse(const Json& value) const { refuse_as_numbers(who, excerpt(value)); }
};

NestedNumbers numbers_from_json(const Json& value, std::string_view who) {
  return NumberFlattener(JsonNumbers{who}).flatten(value);
}

NestedNumbers tensor_numbers(const Json& config, std::string_view who) {
  if (!config.is_object() || !config.contains("value") || !config.contains("dtype") || !config["dtype"].is_string()) {
    throw invalid_argument(who, "a tensor is written with its value and dtype", {{"tensor", excerpt(config)}});
  }
  const NestedNumbers numbers = numbers_from_json(config["value"], who);
  return NestedNumbers(numbers.shape(), numbers.values(), config["dtype"].get<std::string>());
}

Tensor tensor_from_json(const Json& config, std::string_view who) {
  const NestedNumbers numbers = tensor_numbers(config, who);
  return run_op("Cast", {Tensor::of(numbers.values(), numbers.shape())},
                {{"dtype", dtype_from_string(numbers.numpy_dtype())}});
}

}  // namespace

bool is_tensor_json(const Json& value) {
  return is_object_json(value) && (value["class_name"] == "__numpy__" || value["class_name"] == "__tensor__");
}

Json nested_to_json(const NestedNumbers& numbers) {
  std::size_t next = 0;
  const std::string& dtype = numbers.numpy_dtype();
  Json lists = nested(numbers.values(), numbers.shape(), 0, next, dtype.find("int") != std::string::npos);
  return dtype.empty() ? lists
                       : Json{{"class_name", "__numpy__"}, {"config", {{"value", std::move(lists)}, {"dtype", dtype}}}};
}

NestedNumbers nested_from_json(const Json& value, std::string_view who) {
  return is_tensor_json(value) ? tensor_numbers(value["config"], who) : numbers_from_json(value, who);
}

Json attribute_to_json(const AttributeValue& value) {
  return std::visit(
      [&](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, DType>) {
          return std::string(to_string(held));
        } else if constexpr (std::is_same_v<T, Shape>) {
          return held.to_vector();
        } else if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::shared_ptr<const Graph>>) {
          if constexpr (std::is_same_v<T, Tensor>) {
            if (is_plain(held.dtype()) && !held.is_symbolic()) return tensor_to_json(held.to_host());
          }
          throw unimplemented("to_json",
                              "call arguments of a model that is saved are numbers, strings or lists of them",
                              {{"argument", to_string(value)}});
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return is_index(held) ? index_to_json(held) : Json(held);
        } else {
          return held;
        }
      },
      value);
}

AttributeValue attribute_from_json(const Json& value, std::string_view who) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    if (all(value, &Json::is_number_integer)) return value.get<std::vector<std::int64_t>>();
    if (all(value, &Json::is_number)) return value.get<std::vector<double>>();
    if (all(value, &Json::is_string)) return value.get<std::vector<std::string>>();
    if (std::all_of(value.begin(), value.end(), is_index_json)) return index_from_json(value);
  }
  if (value.is_object() && is_index_json(value)) return index_from_json(Json::array({value}));
  if (is_tensor_json(value)) return tensor_from_json(value["config"], who);
  throw unimplemented(who, "call arguments are symbols, numbers, strings or lists of them",
                      {{"argument", excerpt(value)}});
}

}  // namespace cohort
