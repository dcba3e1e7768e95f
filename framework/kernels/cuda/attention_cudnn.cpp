#include "cohort/kernels/cuda/attention_cudnn.h"

#include <dlfcn.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/op_determinism.h"
#include "cohort/cuda/cudnn.h"
#include "cohort/kernels/cuda/attention_logarithms.h"
#include "cohort/kernels/cuda/stream.h"

// The frontend finds cuDNN's functions by the handle below. It would also load a CUDA runtime by its name, another one
// than ours, to ask what it is told here or need not know: it gets none.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define NV_CUDNN_FRONTEND_DISABLE_LOGGING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#define dlopen(name, mode) nullptr
#include <cudnn_frontend.h>
#undef dlopen

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace cohort::kernels::cuda {
namespace {

namespace fe = cudnn_frontend;
using cohort::cuda::CudaDevice;
using Sizes4 = std::vector<std::int64_t>;

constexpr std::int64_t kMostWorkspace = std::int64_t{512} << 20;
// It takes longer to find a plan than to attend to a few steps, and lengths that grow would want one each.
constexpr std::int64_t kFewestSteps = 64;
// Before, the frontend has memory filled by the runtime that it does not get.
constexpr std::size_t kOldestCudnn = 90600;
constexpr std::size_t kPlaces = 256;  // that parts of the workspace are aligned to

// Names of the tensors of a graph.
enum Id : std::int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kUpstream,
  kLogarithms,
  kStepsOf,
  kKeysOf,
  kToQuery,
  kToKey,
  kToValue
};

// All that a plan depends on.
struct PlanKey {
  int device;
  bool is_gradient;
  DType dtype;
  std::int64_t batch, steps, heads, size, keys, key_heads, value_size;
  float scale;
  bool causal, repeatable;

  auto operator<=>(const PlanKey&) const = default;
};

std::size_t padded(std::size_t bytes) { return (bytes + kPlaces - 1) / kPlaces * kPlaces; }

// A head's steps lie `heads` heads apart: (batch, heads, steps, size) of a tensor (batch, steps, heads, size).
fe::graph::Tensor_attributes head_tensor(Id id, std::int64_t batch, std::int64_t steps, std::int64_t heads,
                                         std::int64_t size) {
  fe::graph::Tensor_attributes tensor;
  tensor.set_uid(id)
      .set_dim(Sizes4{batch, heads, steps, size})
      .set_stride(Sizes4{steps * heads * size, size, heads * size, 1});
  return tensor;
}
fe::graph::Tensor_attributes logarithms_tensor(const PlanKey& key) {
  fe::graph::Tensor_attributes tensor;
  tensor.set_uid(kLogarithms)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim(Sizes4{key.batch, key.heads, key.steps, 1})
      .set_stride(Sizes4{key.heads * key.steps, key.steps, 1, 1});
  return tensor;
}
fe::graph::Tensor_attributes lengths_tensor(Id id, const PlanKey& key) {
  fe::graph::Tensor_attributes tensor;
  tensor.set_uid(id)
      .set_data_type(fe::DataType_t::INT32)
      .set_dim(Sizes4{key.batch, 1, 1, 1})
      .set_stride(Sizes4{1, 1, 1, 1});
  return tensor;
}
fe::graph::Tensor_attributes query_tensor(Id id, const PlanKey& key) {
  return head_tensor(id, key.batch, key.steps, key.heads, key.size);
}
fe::graph::Tensor_attributes key_tensor(Id id, const PlanKey& key) {
  return head_tensor(id, key.batch, key.keys, key.key_heads, key.size);
}
fe::graph::Tensor_attributes value_tensor(Id id, const PlanKey& key) {
  return head_tensor(id, key.batch, key.keys, key.key_heads, key.value_size);
}
fe::graph::Tensor_attributes output_tensor(Id id, const PlanKey& key) {
  return head_tensor(id, key.batch, key.steps, key.heads, key.value_size);
}

// Makes what the graph gave a result that lies as `place` says.
void make_result(const std::shared_ptr<fe::graph::Tensor_attributes>& tensor,
                 const fe::graph::Tensor_attributes& place) {
  tensor->set_output(true).set_uid(place.get_uid()).set_dim(place.get_dim()).set_stride(place.get_stride());
}

template <class Attributes>
void set_options(Attributes& attributes, const PlanKey& key) {
  attributes.set_name("attention").set_attn_scale(key.scale);
  if (key.causal) {  // a step sees the keys up to its own, whatever their numbers
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  }
}

void add_attention(fe::graph::Graph& graph, const PlanKey& key) {
  fe::graph::SDPA_attributes attributes;
  set_options(attributes, key);
  attributes.set_generate_stats(true).set_implementation(fe::AttentionImplementation_t::COMPOSITE);
  const auto [output, logarithms] =
      graph.sdpa(graph.tensor(query_tensor(kQuery, key)), graph.tensor(key_tensor(kKey, key)),
                 graph.tensor(value_tensor(kValue, key)), attributes);
  make_result(output, output_tensor(kOutput, key));
  make_result(logarithms, logarithms_tensor(key));
  logarithms->set_data_type(fe::DataType_t::FLOAT);
}

// Up to 9.15, cuDNN's gradient needs to be told how many keys there are where they do not fill its tiles. The frontend
// would copy the numbers from the host each time.
bool needs_lengths(const PlanKey& key) {
  return key.is_gradient && key.keys % 128 != 0 && fe::detail::get_backend_version() <= 91500;
}

void add_attention_gradient(fe::graph::Graph& graph, const PlanKey& key) {
  fe::graph::SDPA_backward_attributes attributes;
  set_options(attributes, key);
  attributes.set_deterministic_algorithm(key.repeatable);
  if (needs_lengths(key)) {
    attributes.set_padding_mask(true)
        .set_seq_len_q(graph.tensor(lengths_tensor(kStepsOf, key)))
        .set_seq_len_kv(graph.tensor(lengths_tensor(kKeysOf, key)));
  }
  const auto [to_query, to_key, to_value] = graph.sdpa_backward(
      graph.tensor(query_tensor(kQuery, key)), graph.tensor(key_tensor(kKey, key)),
      graph.tensor(value_tensor(kValue, key)), graph.tensor(output_tensor(kOutput, key)),
      graph.tensor(output_tensor(kUpstream, key)), graph.tensor(logarithms_tensor(key)), attributes);
  make_result(to_query, query_tensor(kToQuery, key));
  make_result(to_key, key_tensor(kToKey, key));
  make_result(to_value, value_tensor(kToValue, key));
}

// One graph of cuDNN's with an engine that computes it.
class AttentionPlan {
 public:
  // Nothing where there is no engine.
  static std::shared_ptr<const AttentionPlan> make(const CudaDevice& device, const PlanKey& key) {
    auto plan = std::make_shared<AttentionPlan>();
    plan->handle_ = cohort::cuda::cudnn_handle(device);
    device.make_current();
    try {
      return plan->build(device, key) ? plan : nullptr;
    } catch (const std::exception&) {  // what the frontend throws where it has no other way to say no
      return nullptr;
    }
  }

  std::size_t workspace_bytes() const { return workspace_bytes_; }

  // With the memory of all tensors.
  void run(std::unordered_map<std::int64_t, void*> memory, void* workspace) const {
    fe::error_t status = graph_.execute(handle_, memory, workspace);
    if (status.is_good()) return;
    throw internal_error("GPU", "cuDNN is expected to attend", {{"status", status.get_message()}});
  }

 private:
  bool build(const CudaDevice& device, const PlanKey& key) {
    graph_.set_io_data_type(key.dtype == DType::Float16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(device.architecture())
        .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // plans are kept for good
    key.is_gradient ? add_attention_gradient(graph_, key) : add_attention(graph_, key);
    std::int64_t bytes = 0;
    const bool found = graph_.validate().is_good() && graph_.build_operation_graph(handle_).is_good() &&
                       graph_.create_execution_plans({fe::HeurMode_t::A}).is_good() &&
                       graph_.deselect_workspace_greater_than(kMostWorkspace).check_support().is_good() &&
                       graph_.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE).is_good() &&
                       graph_.get_workspace_size(bytes).is_good();
    workspace_bytes_ = static_cast<std::size_t>(bytes);
    return found;
  }

  fe::graph::Graph graph_;
  cudnnHandle_t handle_ = nullptr;
  std::size_t workspace_bytes_ = 0;
};

// Plans take long to make, and the layers of a model have the same sizes. They are never given back, since recordings
// of their launches may be run at any time.
std::shared_ptr<const AttentionPlan> find_plan(const CudaDevice& device, const PlanKey& key) {
  static auto* mutex = new std::mutex;
  static auto* plans = new std::map<PlanKey, std::shared_ptr<const AttentionPlan>>;
  std::lock_guard lock(*mutex);
  const auto [place, is_new] = plans->try_emplace(key);
  if (is_new) place->second = AttentionPlan::make(device, key);
  return place->second;
}

// Whether there is a cuDNN that can be used, which the frontend then uses as well.
bool has_cudnn() {
  static const bool found = [] {
    try {
      fe::cudnn_dlhandle = cohort::cuda::cudnn().library;
    } catch (const Error&) {  // own kernels do as well
      return false;
    }
    return fe::detail::get_backend_version() >= kOldestCudnn;
  }();
  return found;
}

bool suits_cudnn(const AttentionSizes& sizes) {
  return !sizes.has_mask && !sizes.drops() && sizes.window == 0 && sizes.steps >= kFewestSteps &&
         sizes.keys >= kFewestSteps;
}

// cuDNN's fast gradient adds what flows to the query up in memory, by atomic additions of float32 in the order in which
// the blocks come: its last bits differ from run to run. Where ops must be repeatable, it computes the gradients of all
// weights first, which takes their memory, or own kernels do, whose bits are always the same.
std::shared_ptr<const AttentionPlan> plan_for(const KernelSpec& spec, const AttentionSizes& sizes, bool is_gradient) {
  if (!suits_cudnn(sizes) || !has_cudnn()) return nullptr;
  CudaDevice& device = cohort::cuda::device_of(spec);
  const auto held = device.hold();  // others run their plans by the same handle
  return find_plan(device, {device.index(), is_gradient, spec.input(0).dtype, sizes.batch, sizes.steps, sizes.heads,
                            sizes.size, sizes.keys, sizes.key_heads, sizes.value_size, static_cast<float>(sizes.scale),
                            sizes.causal, is_gradient && op_determinism_enabled()});
}

KernelFn cudnn_attention(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto plan = plan_for(spec, sizes, false);
  if (!plan) return {};
  CudaDevice* device = &cohort::cuda::device_of(spec);
  const std::int64_t rows = sizes.batch * sizes.heads * sizes.steps;
  const std::size_t rows_bytes = padded(static_cast<std::size_t>(rows) * sizeof(float));
  device->reserve_workspace(rows_bytes + plan->workspace_bytes());
  return [=](const KernelIO& io) {
    char* workspace = static_cast<char*>(device->workspace());
    plan->run({{kQuery, io.inputs[0]},
               {kKey, io.inputs[1]},
               {kValue, io.inputs[2]},
               {kOutput, io.outputs[0]},
               {kLogarithms, workspace}},
              workspace + rows_bytes);
    enqueue_rows_of_logarithms(reinterpret_cast<const float*>(workspace), io.out<float>(1), rows, *device,
                               stream_of(io));
  };
}

KernelFn cudnn_attention_gradient(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto plan = plan_for(spec, sizes, true);
  if (!plan) return {};
  CudaDevice* device = &cohort::cuda::device_of(spec);
  const std::int64_t rows = sizes.batch * sizes.heads * sizes.steps;
  const std::size_t rows_bytes = padded(static_cast<std::size_t>(rows) * sizeof(float)),
                    lengths_bytes = padded(static_cast<std::size_t>(sizes.batch) * sizeof(std::int32_t));
  device->reserve_workspace(rows_bytes + 2 * lengths_bytes + plan->workspace_bytes());
  return [=](const KernelIO& io) {
    char *logarithms = static_cast<char*>(device->workspace()), *steps_of = logarithms + rows_bytes,
         *keys_of = steps_of + lengths_bytes, *workspace = keys_of + lengths_bytes;
    enqueue_logarithms_of_rows(io.in<float>(5), reinterpret_cast<float*>(logarithms), rows, *device, stream_of(io));
    enqueue_lengths(reinterpret_cast<std::int32_t*>(steps_of), reinterpret_cast<std::int32_t*>(keys_of), sizes.batch,
                    sizes.steps, sizes.keys, *device, stream_of(io));
    plan->run({{kQuery, io.inputs[0]},
               {kKey, io.inputs[1]},
               {kValue, io.inputs[2]},
               {kOutput, io.inputs[3]},
               {kUpstream, io.inputs[4]},
               {kLogarithms, logarithms},
               {kStepsOf, steps_of},
               {kKeysOf, keys_of},
               {kToQuery, io.outputs[0]},
               {kToKey, io.outputs[1]},
               {kToValue, io.outputs[2]}},
              workspace);
  };
}

[[maybe_unused]] const bool cudnn_attends = [] {
  library_attention() = {cudnn_attention, cudnn_attention_gradient};
  return true;
}();

}  // namespace
}  // namespace cohort::kernels::cuda
