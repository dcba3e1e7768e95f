#include "cohort/ops/stacking.h"

#include "cohort/ops/array.h"

namespace cohort::ops {
namespace {

// Joined along `axis` after each got at least `rank` axes, `in_front` or behind the others.
Tensor joined_along(const Tensors& xs, int rank, int axis, bool in_front) {
  Tensors grown;
  for (Tensor x : xs) {
    while (x.rank() < rank) x = expand_dims(x, in_front ? 0 : -1);
    grown.push_back(x);
  }
  return concatenate(grown, axis);
}

}  // namespace

Tensor append(const Tensor& x1, const Tensor& x2, std::optional<int> axis) {
  if (axis) return concatenate({x1, x2}, *axis);
  return concatenate({ravel(x1), ravel(x2)}, 0);
}

Tensor hstack(const Tensors& xs) { return joined_along(xs, 1, !xs.empty() && xs[0].rank() >= 2 ? 1 : 0, false); }
Tensor vstack(const Tensors& xs) { return joined_along(xs, 2, 0, true); }

Tensor dstack(const Tensors& xs) {
  Tensors grown = xs;
  for (Tensor& x : grown) x = joined_along({x}, 2, 0, true);
  return joined_along(grown, 3, 2, false);
}

Tensors array_split(const Tensor& x, const IndicesOrSections& where, int axis) {
  if (!where.sections) return split(x, where, axis);
  const std::int64_t size = x.shape()[normalize_axis(axis, x.rank(), "array_split")], sections = *where.sections;
  if (size == kUnknown || sections < 1) {
    throw invalid_argument("array_split", "an axis of a known size and at least one part are expected",
                           {{"x.shape", x.shape()}, {"axis", axis}, {"sections", sections}});
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < sections; ++i) sizes.push_back(size / sections + (i < size % sections ? 1 : 0));
  return split_sizes(x, sizes, axis);
}

Tensors vsplit(const Tensor& x, const IndicesOrSections& where) { return array_split(x, where, 0); }
Tensors hsplit(const Tensor& x, const IndicesOrSections& where) { return array_split(x, where, x.rank() == 1 ? 0 : 1); }
Tensors dsplit(const Tensor& x, const IndicesOrSections& where) { return array_split(x, where, 2); }

}  // namespace cohort::ops
