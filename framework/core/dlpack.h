#pragma once

#include "cohort/core/tensor.h"

// Of the DLPack standard; <dlpack/dlpack.h> declares the same.
struct DLManagedTensorVersioned;
struct DLManagedTensor;

namespace cohort {

// A tensor over memory that another library hands over by DLPack: of the CPU (pinned memory too) as CPU:0, of an NVIDIA
// GPU as GPU:index. Compact row-major memory is used without a copy and must stay unchanged until the producer's
// deleter is called, which happens once, on whatever thread the last owner goes and after the device's work is done.
// What lies in the CPU's memory in another order, or not aligned to its elements, is copied. Waits for all work on a
// GPU, the producer's too. `managed` belongs to this function in any case: when it throws, it has called the deleter.
Tensor from_dlpack(DLManagedTensorVersioned* managed);
// The same for producers from before DLPack 1.0.
Tensor from_dlpack(DLManagedTensor* managed);

// Hands a tensor's memory over without a copy, once all work on its device is done. The memory lives until the consumer
// calls the deleter, on any thread; that waits for all work on a GPU. Marked as read-only, since tensors never change:
// whoever wants to write gives tensor.clone() away and keeps nothing of it.
DLManagedTensorVersioned* to_dlpack(const Tensor& tensor);
// The same for consumers from before DLPack 1.0, who cannot be told that they must not write.
DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor);

}  // namespace cohort
