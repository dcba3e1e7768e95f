#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"

namespace cohort {

// One axis of a copy: how many elements, and the steps (in elements) from one to the next on either side. A step of 0
// on the `from` side repeats, a negative one walks backwards.
struct CopyAxis {
  std::int64_t size = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// A planned copy between two strided views of memory; every movement op (transpose, slice, concat, tile, ...) is one or
// a few of these. Making it does all shape work; running it only copies.
class StridedCopy {
 public:
  StridedCopy(DType dtype, std::span<const CopyAxis> axes, std::int64_t from_offset = 0, std::int64_t to_offset = 0);

  void run(const void* from, void* to) const;

 private:
  static constexpr int kMaxAxes = 2 * Shape::kMaxRank;

  void add_axis(const CopyAxis& axis);
  void choose_walk();
  template <class T>
  void run_rows(const T* from, T* to) const;
  template <class T>
  void run_tiles(const T* from, T* to) const;

  DType dtype_;
  CopyAxis axes_[kMaxAxes];
  int rank_ = 0;
  std::int64_t from_offset_, to_offset_;
  bool empty_ = false;
  // The two inner axes swap places between `from` and `to`: they are walked in square tiles that fit the cache.
  bool tiled_ = false;
};

// Calls `visit(T{})` with a type that has the size of the elements (std::string for strings): moving needs no more.
template <class Visit>
decltype(auto) visit_element(DType dtype, Visit&& visit) {
  if (dtype == DType::String) return visit(std::string{});
  switch (size_of(dtype)) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

}  // namespace cohort
