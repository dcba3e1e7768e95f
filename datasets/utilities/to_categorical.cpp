#include "cohort/datasets/utilities/to_categorical.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort::utils {
namespace {

constexpr const char* kToCategorical = "utils.to_categorical";

}  // namespace

Tensor to_categorical(const Tensor& labels, std::int64_t num_classes) {
  if (num_classes < 0) {
    throw invalid_argument(kToCategorical, "a number of classes of at least 0 is expected",
                           {{"num_classes", num_classes}});
  }
  const std::vector<std::int64_t> values = labels.to_vector<std::int64_t>();
  if (num_classes == 0) {
    if (values.empty()) throw invalid_argument(kToCategorical, "at least one label is expected", {{"labels.size", 0}});
    num_classes = *std::max_element(values.begin(), values.end()) + 1;
  }
  Shape shape = labels.shape();
  if (shape.rank() > 1 && shape.back() == 1) shape = shape.slice(0, shape.rank() - 1);
  shape.push_back(std::max<std::int64_t>(num_classes, 0));
  std::vector<float> rows(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    // NumPy counts negative numbers from the end, and so does Keras here.
    const std::int64_t label = values[i] < 0 ? values[i] + num_classes : values[i];
    if (label < 0 || label >= num_classes) {
      throw invalid_argument(kToCategorical, "labels below the number of classes are expected",
                             {{"label", values[i]}, {"num_classes", num_classes}});
    }
    rows[i * static_cast<std::size_t>(num_classes) + static_cast<std::size_t>(label)] = 1;
  }
  return Tensor::of(rows, shape);
}

}  // namespace cohort::utils
