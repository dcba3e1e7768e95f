#include "cohort/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/cuda/check.h"
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
  CudaRecording(CudaDevice& device, cudaGraph_t graph) : device_(device), moves_(device.workspace_moves_) {
    cuda::check(cudaGraphInstantiate(&executable_, graph, 0));
    cuda::check(cudaGraphUpload(executable_, device_.compute_));
  }
  ~CudaRecording() override {
    device_.drain();
    if (executable_) cudaGraphExecDestroy(executable_);
  }
  void launch() override {
    std::lock_guard lock(device_.mutex_);
    device_.make_current();
    cuda::check(cudaGraphLaunch(executable_, device_.compute_));
  }
  bool is_valid() const override {
    std::lock_guard lock(device_.mutex_);
    return moves_ == device_.workspace_moves_;
  }

 private:
  CudaDevice& device_;
  const std::uint64_t moves_;
  cudaGraphExec_t executable_ = nullptr;
};

CudaDevice::CudaDevice(int index) : Device("GPU", index) {
  check_gpu_exists(index, count_gpus());
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, index));
  check_gpu(name(), properties);
  multiprocessors_ = properties.multiProcessorCount;
  architecture_ = properties.major * 10 + properties.minor;
  make_current();
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  check_free_memory(name(), free, total);
  cuda::check(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  cuda::check(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
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
  if (recording_) throw internal_error("GPU", "memory is asked for before work is recorded", {{"bytes", bytes}});
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
  if (recording_) {
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
  KernelTimes::Stretch stretch(times(), DeviceStream::Compute);
  // From pageable memory it returns when the source has been read.
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, compute_));
  stretch.end_copy(bytes);
}

void CudaDevice::copy_to_host(void* target, const void* source, std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    make_current();
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
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, compute_));
  stretch.end_copy(bytes);
}

void CudaDevice::fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) {
  if (count == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, element_bytes);
  enqueue_fill(target, bits, element_bytes, count, compute_);
}

void CudaDevice::enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream which) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  make_current();
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
      (*call->kernel)({call->arguments, call->arguments + call->inputs, random, allocator, compute_});
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
  enqueue_turns(turns, loop, count, compute_);
}

std::unique_ptr<DeviceEvent> CudaDevice::make_event() { return std::make_unique<CudaEvent>(*this); }

std::unique_ptr<Recording> CudaDevice::record(const std::function<void()>& work) {
  // Nobody else enqueues meanwhile: it would be recorded, too.
  std::lock_guard lock(mutex_);
  make_current();
  cuda::check(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal));
  recording_ = true;
  cudaGraph_t graph = nullptr;
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const cudaError_t ended = cudaStreamEndCapture(compute_, &graph);
  recording_ = false;
  free_deferred();
  struct Graph {
    cudaGraph_t graph;
    ~Graph() {
      if (graph) cudaGraphDestroy(graph);
    }
  } owned{graph};
  if (error) {
    (void)cudaGetLastError();
    std::rethrow_exception(error);
  }
  cuda::check(ended);
  return std::make_unique<CudaRecording>(*this, graph);
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
  std::pair<std::string, Refusal> refusal;
  {
    std::lock_guard lock(mutex_);
    if (refusals_.empty()) return;
    make_current();
    cuda::check(cudaMemcpyAsync(&found, errors_, sizeof found, cudaMemcpyDeviceToHost, compute_));
    cuda::check(cudaStreamSynchronize(compute_));
    if (found.site == 0) return;
    cuda::check(cudaMemsetAsync(errors_, 0, sizeof(ErrorRecord), compute_));
    refusal = refusals_.at(found.site - 1);
  }
  try {
    refusal.second(found.position, found.value);
  } catch (...) {
    rethrow_named({.node = &refusal.first});
  }
}

void CudaDevice::reserve_workspace(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes <= workspace_bytes_) return;
  void* larger = allocate(bytes);
  account_.note(larger, bytes, "working memory of kernels");
  if (workspace_) deallocate(workspace_, workspace_bytes_);
  workspace_ = larger;
  workspace_bytes_ = bytes;
  ++workspace_moves_;
}

unsigned int CudaDevice::add_check(std::string_view node, Refusal refusal) {
  std::lock_guard lock(mutex_);
  refusals_.emplace_back(node, std::move(refusal));
  return static_cast<unsigned int>(refusals_.size());
}

namespace {

[[maybe_unused]] const bool gpu_registered = register_device_type(
    "GPU", [](int index) -> std::unique_ptr<Device> { return std::make_unique<CudaDevice>(index); });

}  // namespace
}  // namespace cohort::cuda
