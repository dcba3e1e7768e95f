#include "cohort/kernels/fusion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cohort/kernels/functors.h"

namespace cohort::kernels {
namespace {

bool in_table(std::string_view op) {
#define COHORT_ROW(Name, function, types, ...) #Name,
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = {"Select", "Cast",
                                         COHORT_UNARY_FUNCTORS(COHORT_ROW) COHORT_UNARY_TESTS(COHORT_ROW)
                                             COHORT_BINARY_FUNCTORS(COHORT_ROW) COHORT_BINARY_TESTS(COHORT_ROW)};
    std::sort(all.begin(), all.end());
    return all;
  }();
#undef COHORT_ROW
  return std::binary_search(names.begin(), names.end(), op);
}

}  // namespace

bool fusible(const OpDef& op, std::span<const TensorSpec> inputs) {
  return in_table(op.name()) &&
         std::all_of(inputs.begin(), inputs.end(), [](const TensorSpec& input) { return is_plain(input.dtype); });
}

}  // namespace cohort::kernels
