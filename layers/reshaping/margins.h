#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::layers {

// What is added or cut at the two ends of an axis; one number stands for both.
struct Margin {
  Margin(int both) : before(both), after(both) {}
  Margin(std::int64_t before, std::int64_t after) : before(before), after(after) {}
  std::int64_t before, after;
};

// Margins of each spatial axis: one number for all of them, a number or a pair for each.
struct Margins {
  Margins(int all) : sizes{{all}} {}
  Margins(std::initializer_list<Margin> margins) {
    for (const Margin& margin : margins) sizes.push_back({margin.before, margin.after});
  }

  // Makes a pair of each of `axes` entries; throws unless there are that many, none negative.
  void standardize(const std::string& who, const char* name, int axes) {
    if (sizes.size() == 1 && sizes[0].size() == 1) sizes.resize(static_cast<std::size_t>(axes), sizes[0]);
    bool fits = static_cast<int>(sizes.size()) == axes;
    for (std::vector<std::int64_t>& pair : sizes) {
      if (pair.size() == 1) pair.push_back(pair[0]);
      fits = fits && pair.size() == 2 && pair[0] >= 0 && pair[1] >= 0;
    }
    if (fits) return;
    throw invalid_argument(who,
                           std::string(name) + " must be a number of 0 or more, or one or two of them for each of " +
                               std::to_string(axes) + " axes",
                           {{name, to_string()}});
  }
  // "((1, 1), (2, 2))", for errors.
  std::string to_string() const {
    return "(" + join(sizes, [](const std::vector<std::int64_t>& pair) { return "(" + join(pair) + ")"; }) + ")";
  }

  std::vector<std::vector<std::int64_t>> sizes;
};

}  // namespace cohort::layers
