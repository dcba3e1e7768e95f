#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cohort/cuda/cudnn.h"

namespace cohort::cuda {

// A descriptor of cuDNN's backend.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  void finalize();
  // Whether it could be finalized.
  bool try_finalize();

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// A tensor of a graph.
CudnnDescriptor cudnn_tensor(std::int64_t id, cudnnDataType_t type, std::span<const std::int64_t> dimensions,
                             std::span<const std::int64_t> strides);

// What a plan may do.
struct CudnnLimits {
  std::int64_t workspace = 0;   // bytes
  bool full_precision = false;  // no rounding of float32 operands for tensor cores
  bool same_bits = false;       // each time
};

// A graph of one operation with the engine that the heuristics like best among those that keep to the limits and add up
// in the type asked for.
class CudnnPlan {
 public:
  // Nothing where no engine fits.
  static std::optional<CudnnPlan> make(const CudaDevice& device, std::vector<CudnnDescriptor> parts,
                                       CudnnDescriptor operation, const CudnnLimits& limits);

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  // The tensors' memory in the order of their ids; the workspace is for this run.
  void run(std::span<const std::int64_t> ids, std::span<void* const> memory, void* workspace) const;

 private:
  CudnnPlan(cudnnHandle_t handle, std::vector<CudnnDescriptor> parts, CudnnDescriptor plan,
            std::int64_t workspace_bytes)
      : handle_(handle), parts_(std::move(parts)), plan_(std::move(plan)), workspace_bytes_(workspace_bytes) {}

  cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> parts_;  // what the plan is made of
  CudnnDescriptor plan_;
  std::int64_t workspace_bytes_;
};

}  // namespace cohort::cuda
