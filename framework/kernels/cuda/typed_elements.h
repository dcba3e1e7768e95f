#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"

namespace cohort::kernels::cuda {

// Elements that a thread moves with one access if memory allows it: as many for every type that is computed in C, so
// that tensors of different types are walked in step. Only what models compute in is worth the time that it takes to
// compile more.
template <class C>
inline constexpr int kWidth = std::is_same_v<C, float> ? 4 : 1;

// What elements of a type are computed in by kernels that learn the type at run time: all integers (and bool, as 0 and
// 1) are int64.
template <class Visit>
decltype(auto) visit_computed(DType dtype, Visit&& visit) {
  if (dtype == DType::Float64) return visit(Type<double>{});
  if (is_floating(dtype)) return visit(Type<float>{});
  return visit(Type<std::int64_t>{});
}
template <class Visit>
decltype(auto) visit_computed_floating(DType dtype, Visit&& visit) {
  return dtype == DType::Float64 ? visit(Type<double>{}) : visit(Type<float>{});
}

// Calls `visit(Type<T>{})` for the types that are computed in C.
template <class C, class Visit>
__device__ inline void visit_stored(DType dtype, const Visit& visit) {
  if constexpr (std::is_same_v<C, double>) {
    visit(Type<double>{});
  } else if constexpr (std::is_same_v<C, float>) {
    if (dtype == DType::Float32) {
      visit(Type<float>{});
    } else if (dtype == DType::BFloat16) {
      visit(Type<__nv_bfloat16>{});
    } else {
      visit(Type<__half>{});
    }
  } else {
    if (dtype == DType::Int32) {
      visit(Type<std::int32_t>{});
    } else if (dtype == DType::Int64) {
      visit(Type<std::int64_t>{});
    } else if (dtype == DType::Int8) {
      visit(Type<std::int8_t>{});
    } else {
      visit(Type<std::uint8_t>{});
    }
  }
}

template <class C, class T>
__device__ inline C lifted(T x) {
  return static_cast<C>(widened(x));
}
template <class T, class C>
__device__ inline T lowered(C x) {
  return narrowed<T>(static_cast<Compute<T>>(x));
}

// A tensor of any type that is computed in C: the kernel looks at the type once for every few elements. Where that
// costs too many registers kernels are made for each type, `Stored`.
template <class C, class Stored = void>
struct TypedElements {
  void* memory;
  DType dtype;

  // The same for kernels that are made for its type.
  template <class T>
  TypedElements<C, T> as() const {
    return {memory, dtype};
  }
  // Whether each kWidth elements, counted from the first, can be moved by one access.
  bool is_packed() const {
    return reinterpret_cast<std::uintptr_t>(memory) % (static_cast<std::uintptr_t>(kWidth<C>) * size_of(dtype)) == 0;
  }

  __device__ C operator[](std::int64_t at) const {
    C value;
    visit_type([&](auto type) {
      using T = typename decltype(type)::type;
      value = lifted<C>(static_cast<const T*>(memory)[at]);
    });
    return value;
  }
  __device__ void set(std::int64_t at, C value) const {
    visit_type([&](auto type) {
      using T = typename decltype(type)::type;
      static_cast<T*>(memory)[at] = lowered<T>(value);
    });
  }

  // Packs of elements: number k begins at `at(k)`; its elements are `fill` if it does not exist. All memory is asked
  // for before the first element is looked at.
  template <int kPacks, int kCount, class At, class Exists>
  __device__ void load(const At& at, const Exists& exists, C (&values)[kPacks][kCount], C fill) const {
    visit_type([&](auto type) {
      using T = typename decltype(type)::type;
      const T* from = static_cast<const T*>(memory);
      Pack<T, kCount> packs[kPacks];
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        if (exists(k)) packs[k] = *reinterpret_cast<const Pack<T, kCount>*>(from + at(k));
      }
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) values[k][j] = exists(k) ? lifted<C>(packs[k].values[j]) : fill;
      }
    });
  }
  // Writes the packs that exist.
  template <int kPacks, int kCount, class At, class Exists>
  __device__ void store(const At& at, const Exists& exists, const C (&values)[kPacks][kCount]) const {
    visit_type([&](auto type) {
      using T = typename decltype(type)::type;
      T* to = static_cast<T*>(memory);
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        Pack<T, kCount> pack;
#pragma unroll
        for (int j = 0; j < kCount; ++j) pack.values[j] = lowered<T>(values[k][j]);
        if (exists(k)) *reinterpret_cast<Pack<T, kCount>*>(to + at(k)) = pack;
      }
    });
  }

 private:
  template <class Visit>
  __device__ void visit_type(const Visit& visit) const {
    if constexpr (std::is_void_v<Stored>) {
      visit_stored<C>(dtype, visit);
    } else {
      visit(Type<Stored>{});
    }
  }
};

// A value as an element of this type holds it.
template <class C>
__device__ inline C rounded(C value, DType dtype) {
  visit_stored<C>(dtype, [&](auto type) { value = lifted<C>(lowered<typename decltype(type)::type>(value)); });
  return value;
}

}  // namespace cohort::kernels::cuda
