#include "cohort/cuda/cudnn_plan.h"

#include <algorithm>
#include <utility>

namespace cohort::cuda {
namespace {

constexpr std::int64_t kTensorAlignment = 16;  // bytes

// Whether an engine computes as precisely as asked and, where that is asked for, with the same bits each time.
bool fits(const CudnnDescriptor& config, const CudnnLimits& limits) {
  const Cudnn& library = cudnn();
  const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  std::int64_t count = 0;
  if (library.get_attribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                            &place) != CUDNN_STATUS_SUCCESS ||
      library.get_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  return std::all_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return !limits.full_precision;
    if (note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return !limits.same_bits;
    // The others are rounded operands or sums, detours through other domains.
    return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
  });
}

std::vector<CudnnDescriptor> find_configs(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  const Cudnn& library = cudnn();
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  std::vector<CudnnDescriptor> configs;
  if (!heuristics.try_finalize()) return configs;
  std::int64_t count = 0;
  if (library.get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                            nullptr) != CUDNN_STATUS_SUCCESS) {
    return configs;
  }
  std::vector<cudnnBackendDescriptor_t> places;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    places.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  library.check(library.get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                      count, &count, places.data()));
  while (static_cast<std::int64_t>(configs.size()) > count) configs.pop_back();
  return configs;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnn().check(cudnn().create_descriptor(type, &descriptor_));
}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) (void)cudnn().destroy_descriptor(descriptor_);
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  cudnn().check(cudnn().set_attribute(descriptor_, name, type, count, values));
}
void CudnnDescriptor::finalize() { cudnn().check(cudnn().finalize(descriptor_)); }
bool CudnnDescriptor::try_finalize() { return cudnn().finalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

CudnnDescriptor cudnn_tensor(std::int64_t id, cudnnDataType_t type, std::span<const std::int64_t> dimensions,
                             std::span<const std::int64_t> strides) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
  tensor.finalize();
  return tensor;
}

std::optional<CudnnPlan> CudnnPlan::make(const CudaDevice& device, std::vector<CudnnDescriptor> parts,
                                         CudnnDescriptor operation, const CudnnLimits& limits) {
  const Cudnn& library = cudnn();
  const auto held = device.hold();  // others run their plans by the same handle
  device.make_current();
  cudnnHandle_t handle = cudnn_handle(device);
  if (!operation.try_finalize()) return std::nullopt;
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (!graph.try_finalize()) return std::nullopt;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& config : find_configs(graph, mode)) {
      if (!fits(config, limits)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.try_finalize()) continue;
      std::int64_t bytes = 0, count = 0;
      library.check(library.get_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                          &count, &bytes));
      if (bytes > limits.workspace) continue;
      parts.push_back(std::move(operation));
      parts.push_back(std::move(graph));
      parts.push_back(std::move(config));
      return CudnnPlan(handle, std::move(parts), std::move(plan), bytes);
    }
  }
  return std::nullopt;
}

void CudnnPlan::run(std::span<const std::int64_t> ids, std::span<void* const> memory, void* workspace) const {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(memory.size()),
           memory.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  cudnn().check(cudnn().execute(handle_, plan_.get(), pack.get()));
}

}  // namespace cohort::cuda
