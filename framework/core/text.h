#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cohort {

// The texts or numbers of a list, one after the other: those of {"a", "b"} are "a, b". `text_of` is called with each
// element, or names a member of it.
template <class List, class TextOf = std::identity>
std::string join(const List& list, const TextOf& text_of = {}, std::string_view separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& each : list) {
    if (!first) text += separator;
    if constexpr (std::is_arithmetic_v<std::decay_t<std::invoke_result_t<const TextOf&, decltype(each)>>>) {
      text += std::to_string(std::invoke(text_of, each));
    } else {
      text += std::invoke(text_of, each);
    }
    first = false;
  }
  return text;
}

// 'text'. (Not "quoted": that would be the standard library's for an argument of its types.)
std::string in_quotes(std::string_view text);
// How a message names an object: "Dense 'dense_1'".
std::string titled(std::string_view kind, std::string_view name);
// "path/name"; the name alone below an empty path.
std::string path_join(std::string_view path, std::string_view name);

}  // namespace cohort
