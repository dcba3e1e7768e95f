#include "cohort/datasets/sources/element_check.h"

#include "cohort/core/error.h"

namespace cohort::datasets {

void check_element(const char* who, const Specs& specs, const Tensors& element, std::uint64_t number) {
  if (element.size() != specs.size()) {
    throw invalid_argument(who, "an element of the structure announced is expected",
                           {{"element", number}, {"tensors", element.size()}, {"tensors announced", specs.size()}});
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Tensor& leaf = element[i];
    if (!leaf.defined() || leaf.is_symbolic()) {
      throw invalid_argument(who, "tensors with values are expected", {{"element", number}, {"tensor", i}});
    }
    if (leaf.dtype() != specs[i].dtype || !leaf.shape().compatible(specs[i].shape)) {
      throw invalid_argument(who, "an element of the types and shapes announced is expected",
                             {{"element", number}, {"tensor", leaf.spec()}, {"announced", specs[i]}},
                             "Announce kUnknown for axes whose size changes.");
    }
  }
}

}  // namespace cohort::datasets
