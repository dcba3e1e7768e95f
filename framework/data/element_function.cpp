#include "cohort/data/element_function.h"

namespace cohort {

Element ElementFunction::operator()(const Element& element, const char* who) const {
  if (arguments_) {
    const std::size_t tensors = element.flatten().size();
    if (tensors != *arguments_) {
      throw invalid_argument(who, "the function takes one argument for each tensor of an element",
                             {{"arguments", *arguments_}, {"tensors", tensors}});
    }
  }
  return call_(element);
}

}  // namespace cohort
