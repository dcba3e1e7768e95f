#include "cohort/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/cuda/check.h"
#include "cohort/cuda/conditional_nodes.h"
#include "cohort/cuda/cublas_lt.h"
#include "cohort/cuda/fill.h"
#include "cohort/cuda/gpu_requirements.h"
#include "cohort/cuda/loop_turns.h"

namespace cohort::cuda {
namespace {

// Free memory that the pool keeps when the device has nothing to do.
constexpr std::uint64_t kKeptBytes = std::uint64_t{2} << 30;
constexpr std::size_t kFirstWorkspace = std::size_t{32} << 20;
// Free memory that is left alone by a device that takes all: modules of kernels and libraries need some.
constexpr std::size_t kLeftBytes = std::size_t{1} << 30;
// Checks whose texts are kept. Kernels are made anew as long as a program computes with other shapes.
constexpr unsigned int kKeptRefusals = 1u << 16;
// A recording's kernels may have to be loaded first: those of a branch that was never taken.
constexpr cudaStreamCaptureMode kCaptureMode = cudaStreamCaptureModeRelaxed;

// The library of matrix products is large, and nearly every model needs it: it is read while the driver makes its
// context, which takes longer. Where it cannot be had, whoever needs it says so.
void begin_to_load_libraries() {
  static const std::jthread loader([] {
    try {
      cublas_lt();
    } catch (const Error&) {
    }
  });
}

}  // namespace

class CudaDevice::CudaEvent : public DeviceEvent {
 public:
  explicit CudaEvent(CudaDevice& device) : device_(device) {
    device_.make_current();
    cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  void record(DeviceStream stream) override {
    std::lock_guard lock(device_.mutex_);
    cuda::check(cudaEventRecord(event_, device_.stream(stream)));
  }
  void delay(DeviceStream stream) override {
    std::lock_guard lock(device_.mutex_);
    cuda::check(cudaStreamWaitEvent(device_.stream(stream), event_));
  }
  void wait() override { cuda::check(cudaEventSynchronize(event_)); }

 private:
  CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
};

class CudaDevice::CudaRecording : public Recording {
 public:
  CudaRecording(CudaDevice& device, cudaGraph_t graph, std::uint64_t retirements)
      : device_(device), workspace_(device.workspace_), moves_(device.workspace_moves_), retirements_(retirements) {
    cuda::check(cudaGraphInstantiate(&executable_, graph, 0));
    cuda::check(cudaGraphUpload(executable_, device_.compute_));
  }
  ~CudaRecording() override {
    device_.drain();
    if (executable_) cudaGraphExecDestroy(executable_);
  }
  void launch() override {
    std::lock_guard lock(device_.mutex_);
    if (retired()) throw Error(ErrorCode::Aborted, "GPU: what was recorded has been given up with its communication");
    device_.make_current();
    cuda::check(cudaGraphLaunch(executable_, device_.compute_));
  }
  bool is_valid() const override {
    std::lock_guard lock(device_.mutex_);
    return moves_ == device_.workspace_moves_ && !retired();
  }

 private:
  bool retired() const { return retirements_ != device_.retirements_; }

  CudaDevice& device_;
  // Another kernel's making may move the device's at any time, also between is_valid() and launch().
  const std::shared_ptr<void> workspace_;
  const std::uint64_t moves_, retirements_;
  cudaGraphExec_t executable_ = nullptr;
};

CudaDevice::CudaDevice(int index) : Device("GPU", index) {
  check_gpu_exists(index, count_gpus());
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, index));
  check_gpu(name(), properties);
  begin_to_load_libraries();
  model_ = std::string(properties.name) + " of " + std::to_string(properties.multiProcessorCount);
  multiprocessors_ = properties.multiProcessorCount;
  architecture_ = properties.major * 10 + properties.minor;
  make_current();
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  check_free_memory(name(), free, total);
  cuda::check(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  cuda::check(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
  target_ = compute_;
  make_pool();
  errors_ = static_cast<ErrorRecord*>(allocate(sizeof(ErrorRecord)));
  cuda::check(cudaMemsetAsync(errors_, 0, sizeof(ErrorRecord), compute_));
  reserve_workspace(kFirstWorkspace);
}

void CudaDevice::make_pool() {
  cudaMemPoolProps pool{};
  pool.allocType = cudaMemAllocationTypePinned;
  pool.location = {cudaMemLocationTypeDevice, index()};
  cuda::check(cudaMemPoolCreate(&pool_, &pool));
  std::uint64_t kept = account_.growth() ? kKeptBytes : UINT64_MAX;
  cuda::check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
  if (!account_.growth()) take_all_memory();
}

void CudaDevice::take_all_memory() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  std::size_t wanted = free - std::min(free, kLeftBytes);
  if (const std::size_t limit = account_.memory().limit; limit > 0) wanted = limit;
  void* memory = nullptr;
  if (take(memory, wanted) != cudaSuccess) {
    throw account_.exhausted(wanted, "set_memory_growth(false) takes it at the first use");
  }
  cuda::check(cudaFreeAsync(memory, compute_));  // it stays in the pool
}

cudaError_t CudaDevice::take(void*& memory, std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  cudaError_t error = cudaMallocFromPoolAsync(&memory, bytes, pool_, compute_);
  if (error != cudaErrorMemoryAllocation) return error;
  // Pieces that are free, but not beside one another, go back to the driver, which puts them together anew.
  (void)cudaGetLastError();
  (void)cudaStreamSynchronize(compute_);
  (void)cudaMemPoolTrimTo(pool_, 0);
  error = cudaMallocFromPoolAsync(&memory, bytes, pool_, compute_);
  if (error == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  return error;
}

void CudaDevice::make_current() const { cuda::check(cudaSetDevice(index())); }

void* CudaDevice::allocate(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  make_current();
  refuse_while_recording("memory is asked for");
  account_.add(bytes);
  void* memory = nullptr;
  const cudaError_t error = take(memory, bytes);
  if (error == cudaSuccess) return memory;
  account_.remove(nullptr, bytes);
  if (error == cudaErrorMemoryAllocation) throw account_.exhausted(bytes, "the device has no more");
  cuda::check(error);
  return nullptr;
}

void CudaDevice::deallocate(void* memory, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  account_.remove(memory, bytes);
  if (captures_ > 0) {
    deferred_.push_back(memory);
    return;
  }
  (void)cudaFreeAsync(memory, compute_);  // at the process's end there may be no driver left to give it to
}

void CudaDevice::free_deferred() {
  for (void* memory : std::exchange(deferred_, {})) (void)cudaFreeAsync(memory, compute_);
}

void* CudaDevice::allocate_pinned(std::size_t bytes) {
  make_current();
  void* memory = nullptr;
  cuda::check(cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault));
  return memory;
}

void CudaDevice::deallocate_pinned(void* memory, std::size_t) { (void)cudaFreeHost(memory); }

void CudaDevice::copy_from_host(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  refuse_while_recording("copy from the host");
  KernelTimes::Stretch stretch(times(), DeviceStream::Compute);
  // From pageable memory it returns when the source has been read; from pinned memory, before.
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, compute_));
  cudaPointerAttributes memory{};
  cuda::check(cudaPointerGetAttributes(&memory, source));
  if (memory.type == cudaMemoryTypeHost) cuda::check(cudaStreamSynchronize(compute_));
  stretch.end_copy(bytes);
}

void CudaDevice::copy_to_host(void* target, const void* source, std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    make_current();
    refuse_while_recording("copy to the host");
    if (bytes > 0) cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, compute_));
  }
  cuda::check(cudaStreamSynchronize(compute_));
  check();
}

void CudaDevice::copy(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  KernelTimes::Stretch stretch(times(), DeviceStream::Compute);
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, target_));
  stretch.end_copy(bytes);
}

void CudaDevice::fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) {
  if (count == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, element_bytes);
  enqueue_fill(target, bits, element_bytes, count, target_);
}

void CudaDevice::enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream which) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  refuse_while_recording("copy between host and device");
  KernelTimes::Stretch stretch(times(), which);
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream(which)));
  stretch.end_copy(bytes);
}

void CudaDevice::run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) {
  std::lock_guard lock(mutex_);
  make_current();
  const KernelCall* call = calls.data();
  KernelTimes::Stretch stretch(times(), DeviceStream::Compute);
  try {
    for (; call != calls.data() + calls.size(); ++call) {
      (*call->kernel)({call->arguments, call->arguments + call->inputs, random, allocator, target_});
      stretch.end_kernel(*call);
    }
  } catch (...) {
    rethrow_named(*call);
  }
}

void CudaDevice::derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) {
  if (count == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  enqueue_turns(turns, loop, count, target_);
}

std::unique_ptr<DeviceEvent> CudaDevice::make_event() { return std::make_unique<CudaEvent>(*this); }

void CudaDevice::refuse_while_recording(const char* what) const {
  if (captures_ == 0) return;
  throw internal_error("GPU", "only kernels, fills and copies within the device are recorded", {{"work", what}});
}

void CudaDevice::follow_stream(std::function<void(cudaStream_t)> follower) const {
  std::lock_guard lock(followers_mutex_);
  follower(target_);
  followers_.push_back(std::move(follower));
}

void CudaDevice::set_target(cudaStream_t stream) {
  std::lock_guard lock(followers_mutex_);
  target_ = stream;
  for (const auto& follower : followers_) follower(stream);
}

cudaGraph_t CudaDevice::capture(cudaGraph_t into, const std::function<void()>& work) {
  if (captures_ == capture_streams_.size()) {
    cudaStream_t another = nullptr;
    cuda::check(cudaStreamCreateWithFlags(&another, cudaStreamNonBlocking));
    capture_streams_.push_back(another);
  }
  const cudaStream_t outer = target_, stream = capture_streams_[captures_];
  cuda::check(into ? cudaStreamBeginCaptureToGraph(stream, into, nullptr, nullptr, 0, kCaptureMode)
                   : cudaStreamBeginCapture(stream, kCaptureMode));
  ++captures_;
  std::exception_ptr error;
  try {
    set_target(stream);
    work();
  } catch (...) {
    error = std::current_exception();
  }
  --captures_;
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  set_target(outer);
  if (error) {
    if (graph && !into) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    std::rethrow_exception(error);
  }
  cuda::check(ended);
  return graph;
}

std::unique_ptr<Recording> CudaDevice::record(const std::function<void()>& work) {
  // Nobody else enqueues meanwhile: it would be recorded, too.
  std::lock_guard lock(mutex_);
  make_current();
  refuse_while_recording("another recording");
  struct Scope {
    CudaDevice& device;
    cudaGraph_t graph = nullptr;
    void end() {
      device.recorder_ = std::thread::id();
      device.free_deferred();
    }
    ~Scope() {
      end();
      if (graph) (void)cudaGraphDestroy(graph);
    }
  } scope{*this};
  recorder_ = std::this_thread::get_id();
  const std::uint64_t retirements = retirements_;
  scope.graph = capture(nullptr, work);
  scope.end();
  return std::make_unique<CudaRecording>(*this, scope.graph, retirements);
}

void CudaDevice::record_branch(const bool* predicate, const std::function<void()>& yes,
                               const std::function<void()>& no) {
  const cudaGraphConditionalHandle condition = make_condition(target_);
  enqueue_choice(condition, predicate, target_);
  cudaGraph_t* branches = add_conditional(target_, condition, cudaGraphCondTypeIf, no ? 2 : 1);
  capture(branches[0], yes);
  if (no) capture(branches[1], no);
}

void CudaDevice::record_loop(const RecordedLoop& loop) {
  if (loop.limit == 0) return;
  cuda::check(cudaMemsetAsync(&loop.state->turns, 0, sizeof loop.state->turns, target_));
  loop.condition();
  const cudaGraphConditionalHandle condition = make_condition(target_);
  enqueue_next_turn(condition, loop.state, loop.random, target_);
  cudaGraph_t* body = add_conditional(target_, condition, cudaGraphCondTypeWhile, 1);
  capture(body[0], [&] {
    loop.turn();
    if (loop.limit < 0) {
      loop.condition();
    } else {  // after the last turn it is not asked
      enqueue_limit(loop.state, static_cast<std::uint64_t>(loop.limit), target_);
      record_branch(&loop.state->go_on, loop.condition, nullptr);
    }
    enqueue_next_turn(condition, loop.state, loop.random, target_);
  });
}

void CudaDevice::drain() noexcept {
  (void)cudaSetDevice(index());
  (void)cudaStreamSynchronize(compute_);
  (void)cudaStreamSynchronize(copy_);
}

void CudaDevice::drain_all() noexcept {
  std::lock_guard lock(mutex_);  // a recording would be spoilt
  (void)cudaSetDevice(index());
  (void)cudaDeviceSynchronize();
}

void CudaDevice::check() {
  cuda::check(cudaPeekAtLastError());
  ErrorRecord found{};
  KeptRefusal kept;
  {
    std::lock_guard lock(mutex_);
    if (refusals_.empty()) return;
    make_current();
    cuda::check(cudaMemcpyAsync(&found, errors_, sizeof found, cudaMemcpyDeviceToHost, compute_));
    cuda::check(cudaStreamSynchronize(compute_));
    if (found.site == 0) return;
    cuda::check(cudaMemsetAsync(errors_, 0, sizeof(ErrorRecord), compute_));
    kept = refusals_.at((found.site - 1) % kKeptRefusals);
  }
  if (kept.site != found.site) {
    throw invalid_argument("GPU", "values that the op takes are expected; which op it was is no longer known",
                           {{"position", found.position}, {"value", found.value}});
  }
  try {
    kept.refusal(found.position, found.value);
  } catch (...) {
    rethrow_named({.node = &kept.node});
  }
}

void CudaDevice::reserve_workspace(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes <= workspace_bytes_) return;
  void* larger = allocate(bytes);
  account_.note(larger, bytes, "working memory of kernels");
  workspace_.reset(larger, [this, bytes](void* memory) { deallocate(memory, bytes); });
  workspace_bytes_ = bytes;
  ++workspace_moves_;
}

unsigned int CudaDevice::add_check(std::string_view node, Refusal refusal) {
  std::lock_guard lock(mutex_);
  KeptRefusal added{++checks_, std::string(node), std::move(refusal)};
  if (refusals_.size() < kKeptRefusals) {
    refusals_.push_back(std::move(added));
  } else {
    refusals_[(checks_ - 1) % kKeptRefusals] = std::move(added);
  }
  return checks_;
}

namespace {

[[maybe_unused]] const bool gpu_registered = register_device_type(
    "GPU", [](int index) -> std::unique_ptr<Device> { return std::make_unique<CudaDevice>(index); });

}  // namespace
}  // namespace cohort::cuda
