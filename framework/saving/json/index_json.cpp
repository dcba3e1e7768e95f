#include <algorithm>

#include "cohort/saving/json/attribute_json.h"

namespace cohort {
namespace {

Json number_or_null(const std::string& text) { return text == "None" ? Json() : Json(std::stoll(text)); }

std::string text_of(const Json& bound) {
  return bound.is_number_integer() ? std::to_string(bound.get<std::int64_t>()) : std::string("None");
}

}  // namespace

bool is_index(const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.starts_with("slice(") || text == "..." || text == "None";
  });
}

bool is_index_json(const Json& value) {
  return value.is_null() || value.is_number_integer() ||
         (is_object_json(value) && (value["class_name"] == "__slice__" || value["class_name"] == "__ellipsis__"));
}

Json index_to_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    if (text == "...") {
      list.push_back(Json{{"class_name", "__ellipsis__"}, {"config", Json::object()}});
    } else if (text.starts_with("slice(")) {
      const std::size_t first = text.find(", "), second = text.find(", ", first + 2);
      list.push_back(Json{{"class_name", "__slice__"},
                          {"config",
                           {{"start", number_or_null(text.substr(6, first - 6))},
                            {"stop", number_or_null(text.substr(first + 2, second - first - 2))},
                            {"step", number_or_null(text.substr(second + 2, text.size() - second - 3))}}}});
    } else {
      list.push_back(number_or_null(text));
    }
  }
  return list;
}

std::vector<std::string> index_from_json(const Json& value) {
  std::vector<std::string> texts;
  for (const Json& each : value) {
    if (!each.is_object()) {
      texts.push_back(text_of(each));
    } else if (each["class_name"] == "__ellipsis__") {
      texts.emplace_back("...");
    } else {
      const Json& config = each["config"];
      const auto bound = [&](const char* name) {
        return config.is_object() && config.contains(name) ? text_of(config[name]) : std::string("None");
      };
      texts.push_back("slice(" + bound("start") + ", " + bound("stop") + ", " + bound("step") + ")");
    }
  }
  return texts;
}

}  // namespace cohort
