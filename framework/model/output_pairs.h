#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/data/element.h"
#include "cohort/model/compile_options.h"

namespace cohort {

// The outputs of a model with their targets and weights side by side.
struct OutputPairs {
  std::vector<std::string> names;
  Tensors y_true, y_pred, sample_weight;  // undefined where there is none
};
// `names` name the outputs where y_pred is not a dict.
OutputPairs pair_outputs(const Element& y_true, const Element& y_pred, const Element& sample_weight,
                         const std::vector<std::string>& names);

// "['a', 'b']"
inline std::string in_brackets(const std::vector<std::string>& names) { return "[" + join(names, in_quotes) + "]"; }

// A value for each output out of one for all, a list or a dict.
template <class T>
std::vector<const T*> spread(const PerOutput<T>& argument, const std::vector<std::string>& names, const char* what) {
  using Kind = typename PerOutput<T>::Kind;
  std::vector<const T*> result(names.size(), nullptr);
  if (argument.kind == Kind::None) return result;
  if (argument.kind == Kind::Dict) {
    for (const auto& [key, value] : argument.items) {
      const auto at = std::find(names.begin(), names.end(), key);
      if (at == names.end()) {
        throw invalid_argument("Model.compile", std::string(what) + " must be named after the model's outputs",
                               {{"key", in_quotes(key)}, {"outputs", in_brackets(names)}});
      }
      result[static_cast<std::size_t>(at - names.begin())] = &value;
    }
    return result;
  }
  if (argument.kind == Kind::All) {
    std::fill(result.begin(), result.end(), &argument.items[0].second);
    return result;
  }
  if (argument.items.size() != names.size()) {
    throw invalid_argument("Model.compile", std::string("a list of ") + what + " needs one entry for each output",
                           {{"entries", argument.items.size()}, {"outputs", in_brackets(names)}});
  }
  for (std::size_t i = 0; i < names.size(); ++i) result[i] = &argument.items[i].second;
  return result;
}

}  // namespace cohort
