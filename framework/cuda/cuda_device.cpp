#include "cohort/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/cuda/check.h"
#include "cohort/cuda/fill.h"
#include "cohort/cuda/loop_turns.h"

namespace cohort::cuda {
namespace {

// The oldest GPUs whose instructions the kernels use.
constexpr int kOldestMajor = 8;
// Free memory that the pool keeps when the device has nothing to do.
constexpr std::uint64_t kKeptBytes = std::uint64_t{2} << 30;
constexpr std::size_t kFirstWorkspace = std::size_t{32} << 20;

// How many GPUs there are; throws when the driver cannot say.
int count_devices() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    throw failed_precondition("GPU", "a driver for NVIDIA's GPUs is expected", {},
                              "Install it, or place the work on CPU:0.");
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    throw failed_precondition(
        "GPU",
        "a driver is expected that serves CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
            std::to_string(CUDART_VERSION % 1000 / 10),
        {{"driver serves", std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10)}},
        "Renew the driver.");
  }
  if (error == cudaErrorNoDevice)
    count = 0;
  else
    check(error);
  return count;
}

void check_exists(int index) {
  const int count = count_devices();
  if (index < count) return;
  throw not_found("device", "a GPU of this machine is expected",
                  {{"device", "GPU:" + std::to_string(index)}, {"GPUs", count}});
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
  check_exists(index);
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, index));
  if (properties.major < kOldestMajor) {
    throw failed_precondition(
        "GPU", "a GPU of compute capability 8.0 or later is expected",
        {{"device", name()},
         {"model", properties.name},
         {"compute capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)}});
  }
  multiprocessors_ = properties.multiProcessorCount;
  architecture_ = properties.major * 10 + properties.minor;
  make_current();
  cuda::check(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  cuda::check(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
  cudaMemPoolProps pool{};
  pool.allocType = cudaMemAllocationTypePinned;
  pool.location = {cudaMemLocationTypeDevice, index};
  cuda::check(cudaMemPoolCreate(&pool_, &pool));
  std::uint64_t kept = kKeptBytes;
  cuda::check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
  errors_ = static_cast<ErrorRecord*>(allocate(sizeof(ErrorRecord)));
  cuda::check(cudaMemsetAsync(errors_, 0, sizeof(ErrorRecord), compute_));
  reserve_workspace(kFirstWorkspace);
}

void CudaDevice::make_current() const { cuda::check(cudaSetDevice(index())); }

void* CudaDevice::allocate(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  make_current();
  if (recording_) throw internal_error("GPU", "memory is asked for before work is recorded", {{"bytes", bytes}});
  void* memory = nullptr;
  cuda::check(cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(bytes, 1), pool_, compute_));
  return memory;
}

void CudaDevice::deallocate(void* memory, std::size_t) {
  std::lock_guard lock(mutex_);
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
  // From pageable memory it returns when the source has been read.
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, compute_));
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
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, compute_));
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
  cuda::check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream(which)));
}

void CudaDevice::run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) {
  std::lock_guard lock(mutex_);
  make_current();
  const KernelCall* call = calls.data();
  try {
    for (; call != calls.data() + calls.size(); ++call) {
      (*call->kernel)({call->arguments, call->arguments + call->inputs, random, allocator, compute_});
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
