#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/saving/config_json_impl.h"

namespace cohort {
namespace {

bool all(const Json& list, bool (Json::*is)() const noexcept) {
  return std::all_of(list.begin(), list.end(), [&](const Json& each) { return (each.*is)(); });
}

}  // namespace

Json attribute_to_json(const AttributeValue& value) {
  return std::visit(
      [&](const auto& held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, DType>) {
          return std::string(to_string(held));
        } else if constexpr (std::is_same_v<T, Shape>) {
          return held.to_vector();
        } else if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::shared_ptr<const Graph>>) {
          throw unimplemented("to_json",
                              "call arguments of a model that is saved are numbers, strings or lists of them",
                              {{"argument", to_string(value)}});
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
  }
  throw unimplemented(who, "call arguments are symbols, numbers, strings or lists of them",
                      {{"argument", shown(value)}});
}

}  // namespace cohort
