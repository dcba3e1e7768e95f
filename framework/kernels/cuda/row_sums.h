#pragma once

#include <cstdint>

#include "cohort/core/dtype.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/sorted_entries.h"

namespace cohort::kernels::cuda {

// Calls `visit(Type<T>{})` for what sums of elements are made of: integers wrap around whatever their sign.
template <class Visit>
decltype(auto) visit_summed(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::Bool:
      return visit(Type<bool>{});
    case DType::UInt8:
    case DType::Int8:
      return visit(Type<std::uint8_t>{});
    case DType::Int32:
      return visit(Type<std::uint32_t>{});
    case DType::Int64:
      return visit(Type<std::uint64_t>{});
    default:
      return visit_floating(dtype, visit);
  }
}

// What is added up: values [outer, count / entries_per_value, width] into [outer, rows, width].
struct RowSumSizes {
  std::int64_t count = 0, rows = 0, width = 1, outer = 1;
  int log_entries_per_value = 0;
};

// Sums of the values that belong to each row, in the order of the entries. Sorted entries are cut into chunks of a size
// that depends on their number alone. A chunk adds up what each row has in it; rows that reach over chunks are put
// together at the end. So a row that most entries belong to costs no more than others.
class RowSums {
 public:
  RowSums(const char* op, const cohort::cuda::CudaDevice& device, DType dtype, const RowSumSizes& sizes,
          Pieces& memory);

  const EntrySort& entries() const { return entries_; }
  // For memory in which the entries are sorted. Rows without entries become zeros.
  void enqueue(void* memory, const void* values, void* target, cudaStream_t stream) const;
  // The same of values that are multiplied by the weight of the entry.
  void enqueue_weighted(void* memory, const void* values, const float* weights, void* target,
                        cudaStream_t stream) const;
  // Adds to what is in the rows, if no entry was refused.
  void enqueue_added(void* memory, const void* values, void* target, cudaStream_t stream) const;

 private:
  void enqueue_sums(void* memory, const void* values, const float* weights, void* target, bool adds,
                    cudaStream_t stream) const;
  template <class T, int kCount>
  void launch(void* memory, const void* values, const float* weights, void* target, bool adds,
              cudaStream_t stream) const;

  const cohort::cuda::CudaDevice* device_;
  DType dtype_;
  RowSumSizes sizes_;
  std::int64_t chunk_, chunks_;
  EntrySort entries_;
  std::size_t partials_;
};

}  // namespace cohort::kernels::cuda
