#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cohort/core/update_layout.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

// Which variable a block belongs to, given the first block of each.
__device__ inline int find_variable(const int* first_block, int count, int block) {
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// What the blocks of one launch over many variables work on: a parameter of the kernel, as large as parameters may be
// everywhere. Each variable has kPointers arrays of its size; its gradient may have a type of its own.
template <int kPointers>
struct UpdateTable {
  static constexpr int kMost = 3584 / (kPointers * 8 + 13);

  struct Place {
    int variable;
    std::int64_t begin, end;
  };
  // The elements that a block of the launch has.
  __device__ Place find(int block) const {
    const int variable = find_variable(first_block, count, block);
    const std::int64_t begin = (block - first_block[variable]) * chunk;
    return {variable, begin, begin + chunk < sizes[variable] ? begin + chunk : sizes[variable]};
  }
  template <class T>
  __device__ T* at(int pointer, int variable) const {
    return static_cast<T*>(memory[pointer][variable]);
  }
  int blocks() const { return first_block[count]; }

  std::int64_t chunk;
  int count;
  int first_block[kMost + 1];
  std::int64_t sizes[kMost];
  void* memory[kPointers][kMost];
  DType gradient_types[kMost];
};

// Elements of a block: enough blocks to fill a GPU where there are elements for them; no more for what is very large.
inline std::int64_t update_chunk(std::int64_t total) {
  constexpr std::int64_t kWantedBlocks = 2048, kSmallest = 1024, kLargest = 16384;
  const std::int64_t even = (total / kWantedBlocks + kSmallest - 1) / kSmallest * kSmallest;
  return std::clamp(even, kSmallest, kLargest);
}

// The launches of an update, their tables complete but for the pointers. Blocks depend on the shapes alone.
template <int kPointers>
class UpdateLaunches {
 public:
  using Table = UpdateTable<kPointers>;
  // Which inputs a variable's arrays are; -1: none.
  using Inputs = std::array<int, kPointers>;

  struct Launch {
    Table table = {};
    std::vector<Inputs> inputs;
  };

  UpdateLaunches(const std::vector<std::int64_t>& sizes, const std::vector<Inputs>& inputs,
                 const std::vector<DType>& gradient_types) {
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) total += size;
    const std::int64_t chunk = update_chunk(total);
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      if (sizes[v] == 0) continue;
      if (launches_.empty() || launches_.back().table.count == Table::kMost) {
        launches_.emplace_back();
        launches_.back().table.chunk = chunk;
      }
      Launch& launch = launches_.back();
      Table& table = launch.table;
      const int i = table.count++;
      table.sizes[i] = sizes[v];
      table.gradient_types[i] = gradient_types[v];
      table.first_block[i + 1] = table.first_block[i] + static_cast<int>((sizes[v] + chunk - 1) / chunk);
      launch.inputs.push_back(inputs[v]);
    }
  }

  // Calls body(table) for every launch, the pointers filled in.
  template <class Body>
  void each(const KernelIO& io, const Body& body) const {
    for (const Launch& launch : launches_) {
      Table table = launch.table;
      for (int i = 0; i < table.count; ++i) {
        for (int p = 0; p < kPointers; ++p) {
          const int input = launch.inputs[static_cast<std::size_t>(i)][static_cast<std::size_t>(p)];
          table.memory[p][i] = input < 0 ? nullptr : io.inputs[input];
        }
      }
      body(table);
    }
  }
  // Of the largest launch.
  int most_blocks() const {
    int most = 0;
    for (const Launch& launch : launches_) most = std::max(most, launch.table.blocks());
    return most;
  }

 private:
  std::vector<Launch> launches_;
};

// Where an update's scalars lie; an update without iterations has null there, one without a third likewise.
struct UpdateScalarInputs {
  const float* rate;
  const std::int64_t* iterations;
  const float* product;

  UpdateScalarInputs(const KernelIO& io, const UpdateLayout& at)
      : rate(io.in<float>(at.shared(0))),
        iterations(at.num_shared() > 1 ? io.in<std::int64_t>(at.shared(1)) : nullptr),
        product(at.num_shared() > 2 ? io.in<float>(at.shared(2)) : nullptr) {}
  __device__ UpdateScalarInputs(const float* rate, const std::int64_t* iterations, const float* product)
      : rate(rate), iterations(iterations), product(product) {}
};

// The same numbers in the type that a step is computed in; steps count from 1.
template <class Real>
struct UpdateScalars {
  Real rate, step, product;
  __device__ explicit UpdateScalars(const UpdateScalarInputs& inputs)
      : rate(static_cast<Real>(*inputs.rate)),
        step(inputs.iterations ? static_cast<Real>(*inputs.iterations + 1) : Real{0}),
        product(inputs.product ? static_cast<Real>(*inputs.product) : Real{0}) {}
};

// x to the power y, in double: what is left of 1 is often taken from it, which shows the last bits.
template <class Real>
__device__ Real update_power(Real x, Real y) {
  return static_cast<Real>(::pow(static_cast<double>(x), static_cast<double>(y)));
}

// Weight decay comes first, on its own, as Keras assigns it before the update.
template <class Real>
struct WeightDecay {
  Real decay, rate;
  __device__ void operator()(Real& value) const {
    if (decay != Real{0}) value -= value * decay * rate;
  }
};

// The arrays of a variable with so many slots: variable, slots, gradient, squares, rounded copy, in this order.
constexpr int update_arrays(int slots) { return slots + 4; }

// As many neighbours as 16 bytes hold: the gradient, its square, the variable and its slots.
template <class T, int kSlots>
struct UpdateElements {
  using Real = Compute<T>;
  using Table = UpdateTable<update_arrays(kSlots)>;
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  template <class Stored>
  struct alignas(kCount * sizeof(Stored)) Access {
    Stored values[kCount];
  };

  // The arrays of one variable; a gradient in a half type is not to be read as it stands in `memory`.
  struct Arrays {
    T* memory[kSlots + 3];
    void* rounded;
    DType gradient_type;
    bool aligned;
    __device__ Arrays(const Table& table, int variable) {
      std::uintptr_t places = 0;
#pragma unroll
      for (int p = 0; p < kSlots + 3; ++p) {
        memory[p] = table.template at<T>(p, variable);
        places |= reinterpret_cast<std::uintptr_t>(memory[p]);
      }
      rounded = table.template at<void>(kSlots + 3, variable);
      gradient_type = table.gradient_types[variable];
      places |= reinterpret_cast<std::uintptr_t>(rounded);
      aligned = places % 16 == 0;
    }
  };

  Real value[kCount], slots[kSlots > 0 ? kSlots : 1][kCount], gradient[kCount], square[kCount];

  // The elements from `at` on; behind `end` they are zero.
  __device__ void load(const Arrays& arrays, std::int64_t at, std::int64_t end) {
    load_values(arrays, at, end);
    load_gradient(arrays, at, end);
    if (arrays.memory[kSlots + 2]) {
      read(arrays, kSlots + 2, at, end, square);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) square[i] = gradient[i] * gradient[i];
    }
  }
  // Float32 variables may have gradients in half types.
  __device__ void load_gradient(const Arrays& arrays, std::int64_t at, std::int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      const void* memory = arrays.memory[kSlots + 1];
      if (arrays.gradient_type == DType::BFloat16) {
        return read(static_cast<const __nv_bfloat16*>(memory), arrays.aligned, at, end, gradient);
      }
      if (arrays.gradient_type == DType::Float16) {
        return read(static_cast<const __half*>(memory), arrays.aligned, at, end, gradient);
      }
    }
    read(arrays, kSlots + 1, at, end, gradient);
  }
  // All but gradient and square.
  __device__ void load_values(const Arrays& arrays, std::int64_t at, std::int64_t end) {
    read(arrays, 0, at, end, value);
#pragma unroll
    for (int s = 0; s < kSlots; ++s) read(arrays, 1 + s, at, end, slots[s]);
  }
  __device__ void store_value(const Arrays& arrays, std::int64_t at, std::int64_t end) const {
    write(arrays.memory[0], arrays.aligned, at, end, value);
  }
  // The value in a half type, where the variable has such a copy; float32: it has none.
  __device__ void store_rounded(const Arrays& arrays, DType half, std::int64_t at, std::int64_t end) const {
    if constexpr (std::is_same_v<T, float>) {
      if (half == DType::BFloat16) {
        write(static_cast<__nv_bfloat16*>(arrays.rounded), arrays.aligned, at, end, value);
      } else if (half == DType::Float16) {
        write(static_cast<__half*>(arrays.rounded), arrays.aligned, at, end, value);
      }
    }
  }
  __device__ void store_slots(const Arrays& arrays, std::int64_t at, std::int64_t end) const {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) write(arrays.memory[1 + s], arrays.aligned, at, end, slots[s]);
  }

  static __device__ void read(const Arrays& arrays, int which, std::int64_t at, std::int64_t end, Real (&to)[kCount]) {
    read(arrays.memory[which], arrays.aligned, at, end, to);
  }
  template <class Stored>
  static __device__ void read(const Stored* array, bool aligned, std::int64_t at, std::int64_t end,
                              Real (&to)[kCount]) {
    const Stored* from = array + at;
    if (aligned && at + kCount <= end) {
      const auto access = *reinterpret_cast<const Access<Stored>*>(from);
#pragma unroll
      for (int i = 0; i < kCount; ++i) to[i] = widened(access.values[i]);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) to[i] = at + i < end ? widened(from[i]) : Real{0};
    }
  }
  template <class Stored>
  static __device__ void write(Stored* array, bool aligned, std::int64_t at, std::int64_t end,
                               const Real (&from)[kCount]) {
    Stored* to = array + at;
    if (aligned && at + kCount <= end) {
      Access<Stored> access;
#pragma unroll
      for (int i = 0; i < kCount; ++i) access.values[i] = narrowed<Stored>(from[i]);
      *reinterpret_cast<Access<Stored>*>(to) = access;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (at + i < end) to[i] = narrowed<Stored>(from[i]);
      }
    }
  }
};

// The launches of an update whose variables all have kSlots slots of their own size.
template <int kSlots>
UpdateLaunches<update_arrays(kSlots)> update_launches(const KernelSpec& spec, const UpdateLayout& at) {
  std::vector<std::int64_t> sizes;
  std::vector<std::array<int, update_arrays(kSlots)>> inputs;
  std::vector<DType> gradient_types;
  for (int v = 0; v < at.count(); ++v) {
    sizes.push_back(spec.input_size(at.gradient(v)));
    gradient_types.push_back(spec.input(at.gradient(v)).dtype);
    auto& own = inputs.emplace_back();
    own[0] = at.variable(v);
    for (int s = 0; s < kSlots; ++s) own[static_cast<std::size_t>(s) + 1] = at.slot(v, s);
    own[kSlots + 1] = at.gradient(v);
    own[kSlots + 2] = at.has_squares() ? at.squares(v) : -1;
    own[kSlots + 3] = at.has_rounded() ? at.rounded(v) : -1;
  }
  return {sizes, inputs, gradient_types};
}

}  // namespace cohort::kernels::cuda
