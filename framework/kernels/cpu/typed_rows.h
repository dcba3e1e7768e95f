#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {

// Calls `visit(C{})` for what elements of a floating type are computed in.
template <class Visit>
decltype(auto) visit_computed(DType dtype, Visit&& visit) {
  return dtype == DType::Float64 ? visit(double{}) : visit(float{});
}

// Rows of a tensor of any floating type, as kernels see them that compute in C. The type is looked at once per row.
template <class C>
class TypedRows {
 public:
  TypedRows(const TensorSpec& tensor, std::int64_t width) : dtype_(tensor.dtype), width_(width) {}

  // Whether rows are in another type than C, so that reading and writing them takes memory for one.
  bool converts() const { return dtype_ != dtype_of<C>; }

  // The row's elements: where they lie, or converted ones in `memory`.
  const C* read(const void* tensor, std::int64_t row, C* memory) const {
    if (!converts()) return static_cast<const C*>(tensor) + row * width_;
    visit_floating(dtype_, [&]<class T>(T) {
      const T* from = static_cast<const T*>(tensor) + row * width_;
      for (std::int64_t i = 0; i < width_; ++i) memory[i] = C(from[i]);
    });
    return memory;
  }
  // A copy of the row's elements that may be written to.
  C* read_copy(const void* tensor, std::int64_t row, C* memory) const {
    if (const C* elements = read(tensor, row, memory); elements != memory) std::copy_n(elements, width_, memory);
    return memory;
  }

  // Where a row is to be computed: its own place or `memory`, from which store() takes it.
  C* place(void* tensor, std::int64_t row, C* memory) const {
    return converts() ? memory : static_cast<C*>(tensor) + row * width_;
  }
  void store(const C* computed, void* tensor, std::int64_t row) const {
    if (!converts()) return;
    visit_floating(dtype_, [&]<class T>(T) {
      T* to = static_cast<T*>(tensor) + row * width_;
      for (std::int64_t i = 0; i < width_; ++i) to[i] = T(computed[i]);
    });
  }

  // The same for rows of one element.
  C read_one(const void* tensor, std::int64_t row) const {
    C memory;
    return *read(tensor, row, &memory);
  }
  void write_one(C value, void* tensor, std::int64_t row) const {
    *place(tensor, row, &value) = value;
    store(&value, tensor, row);
  }

 private:
  DType dtype_;
  std::int64_t width_;
};

}  // namespace cohort
