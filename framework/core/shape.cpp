#include "cohort/core/shape.h"

#include <algorithm>
#include <ostream>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (std::int64_t size : sizes) push_back(size);
}

std::int64_t Shape::dim(int axis) const { return sizes_[normalize_axis(axis, rank_, "Shape")]; }

bool Shape::fully_known() const {
  return std::all_of(begin(), end(), [](std::int64_t size) { return size != kUnknown; });
}

std::int64_t Shape::num_elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : *this) {
    if (size == kUnknown) return kUnknown;
    count *= size;
  }
  return count;
}

void Shape::push_back(std::int64_t size) {
  if (rank_ == kMaxRank) {
    throw invalid_argument("Shape", "a tensor has at most 8 axes", {{"shape", to_string()}, {"next", size}});
  }
  if (size < kUnknown) {
    throw invalid_argument("Shape", "an axis has a size of 0 or more, or is unknown (-1)", {{"size", size}});
  }
  sizes_[rank_++] = size;
}

Shape Shape::slice(int first, int last) const {
  return Shape(std::span<const std::int64_t>(begin() + first, static_cast<std::size_t>(std::max(0, last - first))));
}

bool Shape::compatible(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin(), [](std::int64_t a, std::int64_t b) {
           return a == b || a == kUnknown || b == kUnknown;
         });
}

std::string Shape::to_string() const {
  const auto text_of = [](std::int64_t size) { return size == kUnknown ? "None" : std::to_string(size); };
  return "(" + join(*this, text_of) + (rank_ == 1 ? ",)" : ")");
}

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* who) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const std::int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da == db || db == 1) {
      result.push_back(da);
    } else if (da == 1) {
      result.push_back(db);
    } else if (da == kUnknown || db == kUnknown) {
      result.push_back(std::max(da, db));  // the known size, greater than 1, decides
    } else {
      throw invalid_argument(who, "shapes must be equal or broadcast (axes from the back equal, or 1)",
                             {{"a.shape", a}, {"b.shape", b}});
    }
  }
  return result;
}

int normalize_axis(int axis, int rank, const char* who) {
  if (axis < -rank || axis >= rank) {
    throw invalid_argument(who, "axis must lie in [-rank, rank)", {{"axis", axis}, {"rank", rank}});
  }
  return axis < 0 ? axis + rank : axis;
}

std::array<std::int64_t, Shape::kMaxRank> row_major_strides(const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace cohort
