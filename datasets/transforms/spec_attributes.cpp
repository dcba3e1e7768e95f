#include "cohort/datasets/transforms/spec_attributes.h"

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::datasets {

void add_element_spec(const ElementSpec& spec, Attributes& attributes) {
  std::vector<std::int64_t> dtypes, shapes;
  for (const TensorSpec& leaf : spec.flatten()) {
    dtypes.push_back(static_cast<std::int64_t>(leaf.dtype));
    shapes.push_back(leaf.shape.rank());
    shapes.insert(shapes.end(), leaf.shape.begin(), leaf.shape.end());
  }
  attributes.set("structure", structure_of(spec));
  attributes.set("dtypes", std::move(dtypes));
  attributes.set("shapes", std::move(shapes));
}

ElementSpec element_spec_of(const char* who, const Attributes& attributes) {
  const auto dtypes = attributes.get<std::vector<std::int64_t>>("dtypes");
  const auto shapes = attributes.get<std::vector<std::int64_t>>("shapes");
  const auto refuse = [&] {
    throw invalid_argument(who, "known element types, and for each a rank followed by its sizes, are expected",
                           {{"dtypes", dtypes.size()}, {"shapes", shapes.size()}});
  };
  std::span<const std::int64_t> left(shapes);
  std::vector<TensorSpec> leaves;
  for (const std::int64_t dtype : dtypes) {
    if (dtype < 0 || dtype >= kDTypeCount || left.empty()) refuse();
    const std::int64_t rank = left[0];
    if (rank < 0 || rank > Shape::kMaxRank || static_cast<std::size_t>(rank) >= left.size()) refuse();
    const auto sizes = left.subspan(1, static_cast<std::size_t>(rank));
    for (const std::int64_t size : sizes) {
      if (size < 0 && size != kUnknown) refuse();
    }
    leaves.push_back({static_cast<DType>(dtype), Shape(sizes)});
    left = left.subspan(static_cast<std::size_t>(rank) + 1);
  }
  if (!left.empty()) refuse();
  return parse_structure(attributes.get<std::string>("structure"), leaves);
}

bool fits_spec(const ElementSpec& expected, const ElementSpec& given) {
  if (!expected.same_structure(given)) return false;
  const std::vector<TensorSpec> wanted = expected.flatten(), found = given.flatten();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].dtype != found[i].dtype || !wanted[i].shape.compatible(found[i].shape)) return false;
  }
  return true;
}

}  // namespace cohort::datasets
