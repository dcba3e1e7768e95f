#include "cohort/distribute/collective/nccl/nccl_group.h"

#include "cohort/core/dtype.h"
#include "cohort/core/log.h"

namespace cohort::distribute::collective {
namespace {

using namespace std::chrono_literals;

// Between two looks at the others and the devices.
constexpr auto kPause = 100ms;
// Of who enqueues and does not wait for the device.
constexpr auto kLongestHold = 2s;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return ncclFloat16;
    case DType::BFloat16:
      return ncclBfloat16;
    case DType::Float32:
      return ncclFloat32;
    case DType::Float64:
      return ncclFloat64;
    case DType::Int32:
      return ncclInt32;
    case DType::Int64:
      return ncclInt64;
    default:
      throw internal_error("NCCL", "values of this type are not added", {{"dtype", dtype}});
  }
}

// NCCL's calls to leave know no deadline: they are left to themselves where others keep them.
struct Leaving {
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  bool done = false;
};

void leave_within(std::chrono::milliseconds longest, const std::vector<ncclComm_t>& communicators) {
  const auto leaving = std::make_shared<Leaving>();
  std::thread([leaving, communicators] {
    const NcclLibrary& nccl = nccl_library();
    nccl.begin_group();
    for (const ncclComm_t communicator : communicators) nccl.leave(communicator);
    nccl.end_group();
    std::lock_guard lock(leaving->mutex);
    leaving->done = true;
    leaving->changed.notify_all();
  }).detach();
  std::unique_lock lock(leaving->mutex);
  if (!leaving->changed.wait_for(lock, longest, [&] { return leaving->done; })) {
    log::warn("NCCL: others do not let this group go.");
  }
}

cuda::CudaDevice& gpu(Device* device) { return static_cast<cuda::CudaDevice&>(*device); }

}  // namespace

NcclGroup::NcclGroup(const DeviceGroupSetUp& set_up, std::vector<ncclComm_t> communicators)
    : nccl_(nccl_library()), set_up_(set_up), communicators_(std::move(communicators)) {
  for (Device* device : set_up_.devices) {
    beside_.push_back(std::make_unique<SideStream>(gpu(device)));
    progress_.push_back(std::make_unique<DeviceProgress>(gpu(device)));
  }
  watcher_ = std::thread([this] { watch(); });
}

// Recordings that hold its work are gone by now.
NcclGroup::~NcclGroup() {
  // What the others still need of the last reductions is there when the devices are done; they may have died, too.
  if (!over_) {
    for (Device* device : set_up_.devices) device->drain();
  }
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  watcher_.join();
  if (!over_) leave_within(set_up_.dead_after, communicators_);
}

void NcclGroup::end(const Error& why) noexcept {
  std::lock_guard lock(mutex_);
  if (!why_) why_ = why;
  over_ = true;
  changed_.notify_all();
}

void NcclGroup::check() const {
  if (!over_) return;
  std::lock_guard lock(mutex_);
  throw Error(*why_);
}

void NcclGroup::enqueue(int device, std::span<const Collective::Part> parts, const void* const* inputs,
                        void* const* outputs, Collective::Reduction reduction, void* stream) {
  check();
  const ncclComm_t communicator = communicators_[static_cast<std::size_t>(device)];
  const auto target = static_cast<cudaStream_t>(stream);
  // Together they are one kernel.
  ncclResult_t result = nccl_.begin_group();
  for (std::size_t i = 0; i < parts.size() && result == ncclSuccess; ++i) {
    const auto count = static_cast<std::size_t>(parts[i].elements);
    if (count == 0) continue;
    const ncclDataType_t type = type_of(parts[i].dtype);
    result = reduction == Collective::Reduction::Sum
                 ? nccl_.all_reduce(inputs[i], outputs[i], count, type, ncclSum, communicator, target)
                 : nccl_.broadcast(inputs[i], outputs[i], count, type, 0, communicator, target);
  }
  const ncclResult_t ended = nccl_.end_group();
  check_result(result != ncclSuccess ? result : ended);
}

void NcclGroup::start(int device, std::span<const Collective::Part> parts, void* const* values, void* stream) {
  beside_[static_cast<std::size_t>(device)]->begin(static_cast<cudaStream_t>(stream), [&](cudaStream_t side) {
    enqueue(device, parts, values, values, Collective::Reduction::Sum, side);
  });
}

void NcclGroup::wait(int device, void* stream) {
  beside_[static_cast<std::size_t>(device)]->end(static_cast<cudaStream_t>(stream));
}

void NcclGroup::check_result(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  // A process that is gone shows here first, and by its name a little later.
  for (auto waited = 0ms; set_up_.look && waited < set_up_.dead_after + kLongestHold; waited += kPause) {
    check();
    set_up_.look();
    std::this_thread::sleep_for(kPause);
  }
  nccl_.check(result);
}

void NcclGroup::look() {
  if (set_up_.look) set_up_.look();
  for (const ncclComm_t communicator : communicators_) {
    ncclResult_t result = ncclSuccess;
    nccl_.check(nccl_.async_error(communicator, &result));
    check_result(result);
  }
  for (const auto& device : progress_) {
    if (device->stands_still() < set_up_.timeout) continue;
    throw Error(ErrorCode::DeadlineExceeded, "NCCL", "every worker must come to a reduction within the timeout",
                {{"awaited", set_up_.others}, {"milliseconds", set_up_.timeout.count()}},
                "See what keeps it, or give options.timeout_seconds more time.");
  }
}

void NcclGroup::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPause, [&] { return leaving_ || over_; })) {
    lock.unlock();
    try {
      look();
    } catch (const Error& error) {
      const bool known = over_;
      end(error);
      if (!known && set_up_.tell) set_up_.tell(error);
    }
    lock.lock();
  }
  if (!over_) return;
  lock.unlock();
  give_up();
}

void NcclGroup::give_up() {
  for (Device* device : set_up_.devices) {
    gpu(device).retire_recordings();
    // Who begins work now finishes that first; who holds the device and waits for it is freed by what follows.
    const auto begin = std::chrono::steady_clock::now();
    while (!gpu(device).try_hold() && std::chrono::steady_clock::now() - begin < kLongestHold) {
      std::this_thread::sleep_for(1ms);
    }
  }
  // Kernels end at once; the calls return when no recording holds any.
  nccl_.begin_group();
  for (const ncclComm_t communicator : communicators_) nccl_.abort(communicator);
  nccl_.end_group();
}

}  // namespace cohort::distribute::collective
