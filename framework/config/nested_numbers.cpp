#include "cohort/config/nested_numbers.h"

#include "cohort/core/error.h"

namespace cohort {

NestedNumbers::NestedNumbers(Shape shape, std::vector<double> values, std::string numpy_dtype)
    : shape_(std::move(shape)), values_(std::move(values)), numpy_dtype_(std::move(numpy_dtype)) {
  if (shape_.num_elements() != static_cast<std::int64_t>(values_.size())) {
    throw invalid_argument("NestedNumbers", "as many numbers as the shape has elements are expected",
                           {{"shape", shape_}, {"numbers", values_.size()}});
  }
}

NestedNumbers::NestedNumbers(std::initializer_list<std::initializer_list<double>> rows)
    : shape_{static_cast<std::int64_t>(rows.size()),
             rows.size() == 0 ? 0 : static_cast<std::int64_t>(rows.begin()->size())} {
  for (const std::initializer_list<double>& row : rows) {
    if (static_cast<std::int64_t>(row.size()) != shape_[1]) {
      throw invalid_argument("NestedNumbers", "rows of equal lengths are expected",
                             {{"first row", shape_[1]}, {"another row", row.size()}});
    }
    values_.insert(values_.end(), row.begin(), row.end());
  }
}

}  // namespace cohort
