#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/kernels/copy_plan.h"

namespace cohort {

// A planned copy between two strided views of memory; every movement op (transpose, slice, concat, tile, ...) is one or
// a few of these. Making it does all shape work; running it only copies.
class StridedCopy {
 public:
  StridedCopy(DType dtype, const kernels::CopyPlan& plan);

  void run(const void* from, void* to) const;

 private:
  void choose_walk();
  template <class T>
  void run_rows(const T* from, T* to) const;
  template <class T>
  void run_tiles(const T* from, T* to) const;

  DType dtype_;
  kernels::CopyPlan plan_;
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
