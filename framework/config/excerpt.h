#pragma once

#include <cstddef>
#include <string>

namespace cohort {

// Characters of a value that an error shows.
inline constexpr std::size_t kExcerptLength = 100;

// A text for an error, cut when it is long.
inline std::string cut_to_excerpt(std::string text) {
  if (text.size() > kExcerptLength) text = text.substr(0, kExcerptLength) + "...";
  return text;
}

}  // namespace cohort
