#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace cohort {

// As a size: not known yet.
inline constexpr std::int64_t kUnknown = -1;

// Sizes of a tensor's axes; an axis may be unknown (kUnknown) while a graph is traced. Never allocates.
class Shape {
 public:
  // The most axes a shape may have.
  static constexpr int kMaxRank = 8;

  // No axes: a scalar.
  Shape() = default;
  // Axes of these sizes.
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);
  explicit Shape(const std::vector<std::int64_t>& sizes) : Shape(std::span<const std::int64_t>(sizes)) {}

  // Number of axes.
  int rank() const { return rank_; }
  // True for a scalar.
  bool empty() const { return rank_ == 0; }
  // Size of an axis, counted from the front; not checked.
  std::int64_t operator[](int axis) const { return sizes_[axis]; }
  std::int64_t& operator[](int axis) { return sizes_[axis]; }
  // Size of an axis counted from the front, or from the back when negative; checked.
  std::int64_t dim(int axis) const;
  // Size of the first axis.
  std::int64_t front() const { return dim(0); }
  // Size of the last axis.
  std::int64_t back() const { return dim(-1); }
  // The sizes, from the first axis to the last.
  const std::int64_t* begin() const { return sizes_.data(); }
  // The end of the sizes.
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  // The sizes as a vector.
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }

  // True when no axis is unknown.
  bool fully_known() const;
  // Number of elements; kUnknown when an axis is unknown.
  std::int64_t num_elements() const;
  // Adds an axis at the end.
  void push_back(std::int64_t size);
  // The axes [first, last).
  Shape slice(int first, int last) const;
  Shape slice(int first) const { return slice(first, rank_); }
  // True when both could describe the same tensor: equal rank, known axes equal.
  bool compatible(const Shape& other) const;
  // "(32, None, 10)" as Keras prints it.
  std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

// Numpy's rule; unknown axes stay unknown unless the other side decides them. Throws on a mismatch, naming `who`.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* who);
// Turns a negative axis into one from the front; throws when out of range.
int normalize_axis(int axis, int rank, const char* who);
// Row-major strides in elements; needs a fully known shape.
std::array<std::int64_t, Shape::kMaxRank> row_major_strides(const Shape& shape);

}  // namespace cohort
