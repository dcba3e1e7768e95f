#include "cohort/kernels/cuda/attention_cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/op_determinism.h"
#include "cohort/cuda/compiled_program.h"
#include "cohort/cuda/cudnn.h"
#include "cohort/cuda/kept_file.h"
#include "cohort/kernels/cuda/attention_lengths.h"
#include "cohort/kernels/cuda/pieces.h"
#include "cohort/kernels/cuda/stopwatch.h"
#include "cohort/kernels/cuda/stream.h"
#include "cohort/kernels/cuda/trial_numbers.h"

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
// cuDNN's plans of which the fastest is looked for by trial: what it lists first is a few percent slower for some
// sizes.
constexpr std::int64_t kTriedPlans = 3;
constexpr std::size_t kMostTrialWorkspace = std::size_t{1} << 20;
constexpr char kEnding[] = ".choice";

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
  std::int64_t rows() const { return batch * heads * steps; }
};

// For choices that are kept; a plan is known by its name.
std::string in_words(const PlanKey& key, const CudaDevice& device) {
  std::string words = "cuDNN " + std::to_string(fe::detail::get_backend_version()) + " on " + device.model();
  for (const std::int64_t size : {key.batch, key.steps, key.heads, key.size, key.keys, key.key_heads, key.value_size})
    words += " " + std::to_string(size);
  return words + " " + to_string(key.dtype) + (key.causal ? " causal" : "");
}

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
  static std::shared_ptr<const AttentionPlan> make(CudaDevice& device, const PlanKey& key) {
    auto plan = std::make_shared<AttentionPlan>();
    plan->handle_ = cohort::cuda::cudnn_handle(device);
    device.make_current();
    try {
      return plan->build(device, key) ? plan : nullptr;
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {  // what the frontend throws where it has no other way to say no
      return nullptr;
    }
  }

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  bool takes_lengths() const { return takes_lengths_; }

  // With the memory of all tensors.
  void run(std::unordered_map<std::int64_t, void*> memory, void* workspace) const {
    fe::error_t status = try_run(memory, workspace);
    if (status.is_good()) return;
    throw internal_error("GPU", "cuDNN is expected to attend", {{"status", status.get_message()}});
  }

 private:
  fe::error_t try_run(std::unordered_map<std::int64_t, void*>& memory, void* workspace) const {
    return graph_.execute(handle_, memory, workspace);
  }

  bool build(CudaDevice& device, const PlanKey& key) {
    graph_.set_io_data_type(key.dtype == DType::Float16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(device.architecture())
        .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // plans are kept for good
    key.is_gradient ? add_attention_gradient(graph_, key) : add_attention(graph_, key);
    takes_lengths_ = needs_lengths(key);
    if (!graph_.validate().is_good() || !graph_.build_operation_graph(handle_).is_good() ||
        !graph_.create_execution_plans({fe::HeurMode_t::A}).is_good() ||
        !graph_.deselect_workspace_greater_than(kMostWorkspace).check_support().is_good()) {
      return false;
    }
    // Other plans of a gradient take far longer than the first. Where ops must be repeatable, no time is looked at.
    if (!key.is_gradient && !key.repeatable && take_fastest(device, key)) return true;
    std::int64_t bytes = 0;
    const bool found = graph_.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE).is_good() &&
                       graph_.get_workspace_size(bytes).is_good();
    workspace_bytes_ = static_cast<std::size_t>(bytes);
    return found;
  }

  bool take(std::int64_t plan) {
    std::int64_t bytes = 0;
    if (!graph_.build_plan_at_index(plan).is_good() ||
        !graph_.get_workspace_size_plan_at_index(plan, bytes).is_good() || bytes > kMostWorkspace) {
      return false;
    }
    workspace_bytes_ = static_cast<std::size_t>(bytes);
    return true;
  }

  std::string name_of_plan(std::int64_t plan) const {
    std::string name;
    return graph_.get_plan_name_at_index(plan, name).is_good() ? name : "";
  }

  // The fastest of the first plans: what this process or another one found before, else by trial, and then kept.
  bool take_fastest(CudaDevice& device, const PlanKey& key) {
    const std::int64_t plans = std::min(graph_.get_execution_plan_count(), kTriedPlans);
    if (plans < 2) return false;
    const std::string words = in_words(key, device);
    std::string folder = cohort::cuda::cache_folder();
    if (!folder.empty()) folder += "/attention";
    const std::string kept = folder.empty() ? "" : cohort::cuda::read_kept(folder, words, kEnding);
    for (std::int64_t plan = 0; plan < plans; ++plan) {
      if (!kept.empty() && name_of_plan(plan) == kept) return take(plan);
    }
    const std::int64_t best = fastest_of(plans, device, key);
    if (best < 0 || !take(best)) return false;
    const std::string name = name_of_plan(best);
    if (!folder.empty() && !name.empty()) cohort::cuda::write_kept(folder, words, kEnding, name);
    return true;
  }

  // -1 where that cannot be found out.
  std::int64_t fastest_of(std::int64_t plans, CudaDevice& device, const PlanKey& key) {
    constexpr int kRounds = 3, kRepeats = 4;
    if (device.is_recording()) return -1;
    const auto bytes_of = [&](std::int64_t steps, std::int64_t heads, std::int64_t size) {
      return static_cast<std::size_t>(key.batch * steps * heads * size) * size_of(key.dtype);
    };
    Pieces pieces;
    const std::size_t query = pieces.add(bytes_of(key.steps, key.heads, key.size)),
                      keys = pieces.add(bytes_of(key.keys, key.key_heads, key.size)),
                      values = pieces.add(bytes_of(key.keys, key.key_heads, key.value_size)),
                      output = pieces.add(bytes_of(key.steps, key.heads, key.value_size)),
                      logarithms = pieces.add(static_cast<std::size_t>(key.rows()) * sizeof(float)),
                      workspace = pieces.add(static_cast<std::size_t>(kMostTrialWorkspace));
    std::int64_t best = -1;
    try {
      const std::unique_ptr<char, std::function<void(char*)>> memory(
          static_cast<char*>(device.allocate(pieces.bytes())),
          [&](char* taken) { device.deallocate(taken, pieces.bytes()); });
      const cudaStream_t stream = device.stream(DeviceStream::Compute);
      enqueue_trial_numbers(key.dtype, memory.get(), output, device, stream);
      Stopwatch watch(stream);
      float shortest = std::numeric_limits<float>::max();
      for (std::int64_t plan = 0; plan < plans; ++plan) {
        if (!take(plan) || workspace_bytes_ > kMostTrialWorkspace) continue;
        std::unordered_map<std::int64_t, void*> tensors{{kQuery, memory.get() + query},
                                                        {kKey, memory.get() + keys},
                                                        {kValue, memory.get() + values},
                                                        {kOutput, memory.get() + output},
                                                        {kLogarithms, memory.get() + logarithms}};
        const auto runs = [&] { return try_run(tensors, memory.get() + workspace).is_good(); };
        if (!runs()) continue;  // this loads it, too
        for (int round = 0; round < kRounds; ++round) {
          const float time = watch.time([&] {
            for (int i = 0; i < kRepeats; ++i) (void)runs();
          });
          if (time < shortest) {
            shortest = time;
            best = plan;
          }
        }
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::ResourceExhausted) throw;
      return -1;
    }
    return best;
  }

  fe::graph::Graph graph_;
  cudnnHandle_t handle_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  bool takes_lengths_ = false;
};

// Plans take long to make, and the layers of a model have the same sizes. They are never given back, since recordings
// of their launches may be run at any time.
std::shared_ptr<const AttentionPlan> find_plan(CudaDevice& device, const PlanKey& key) {
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
                            sizes.causal, op_determinism_enabled()});
}

KernelFn cudnn_attention(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto plan = plan_for(spec, sizes, false);
  if (!plan) return {};
  CudaDevice* device = &cohort::cuda::device_of(spec);
  device->reserve_workspace(plan->workspace_bytes());
  return [=](const KernelIO& io) {
    plan->run({{kQuery, io.inputs[0]},
               {kKey, io.inputs[1]},
               {kValue, io.inputs[2]},
               {kOutput, io.outputs[0]},
               {kLogarithms, io.outputs[1]}},
              device->workspace());
  };
}

KernelFn cudnn_attention_gradient(const KernelSpec& spec, const AttentionSizes& sizes) {
  auto plan = plan_for(spec, sizes, true);
  if (!plan) return {};
  CudaDevice* device = &cohort::cuda::device_of(spec);
  const std::size_t lengths = plan->takes_lengths() ? static_cast<std::size_t>(sizes.batch) * sizeof(std::int32_t) : 0;
  Pieces pieces;
  const std::size_t steps_of = pieces.add(lengths), keys_of = pieces.add(lengths),
                    rest = pieces.add(plan->workspace_bytes());
  device->reserve_workspace(pieces.bytes());
  return [=](const KernelIO& io) {
    char* workspace = static_cast<char*>(device->workspace());
    if (plan->takes_lengths()) {
      enqueue_lengths(reinterpret_cast<std::int32_t*>(workspace + steps_of),
                      reinterpret_cast<std::int32_t*>(workspace + keys_of), sizes.batch, sizes.steps, sizes.keys,
                      *device, stream_of(io));
    }
    plan->run({{kQuery, io.inputs[0]},
               {kKey, io.inputs[1]},
               {kValue, io.inputs[2]},
               {kOutput, io.inputs[3]},
               {kUpstream, io.inputs[4]},
               {kLogarithms, io.inputs[5]},
               {kStepsOf, workspace + steps_of},
               {kKeysOf, workspace + keys_of},
               {kToQuery, io.outputs[0]},
               {kToKey, io.outputs[1]},
               {kToValue, io.outputs[2]}},
              workspace + rest);
  };
}

[[maybe_unused]] const bool cudnn_attends = [] {
  library_attention() = {cudnn_attention, cudnn_attention_gradient};
  return true;
}();

}  // namespace
}  // namespace cohort::kernels::cuda
