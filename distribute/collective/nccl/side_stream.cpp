#include "cohort/distribute/collective/nccl/side_stream.h"

#include <algorithm>

#include "cohort/cuda/check.h"

namespace cohort::distribute::collective {
namespace {

bool is_recorded(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda::check(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

// Its kernels are few and others wait for them: they go first.
SideStream::SideStream(const cuda::CudaDevice& device) : device_(device) {
  device_.make_current();
  int lowest = 0, highest = 0;
  cuda::check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cuda::check(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, highest));
  ready_ = make_event();
}

SideStream::~SideStream() {
  abandon();
  for (const cudaEvent_t event : spare_) (void)cudaEventDestroy(event);
  (void)cudaEventDestroy(ready_);
  (void)cudaStreamDestroy(side_);
}

cudaEvent_t SideStream::make_event() const {
  cudaEvent_t event = nullptr;
  cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void SideStream::begin(cudaStream_t main, FunctionRef<void(cudaStream_t side)> work) {
  if (spare_.empty()) spare_.push_back(make_event());
  cuda::check(cudaEventRecord(ready_, main));
  cuda::check(cudaStreamWaitEvent(side_, ready_));
  work(side_);
  cuda::check(cudaEventRecord(spare_.back(), side_));
  begun_.push_back({spare_.back(), is_recorded(side_)});
  spare_.pop_back();
}

void SideStream::end(cudaStream_t main) {
  if (begun_.empty()) throw internal_error("GPU", "what is waited for was begun before");
  const cudaEvent_t done = begun_.front().done;
  begun_.erase(begun_.begin());
  spare_.push_back(done);
  cuda::check(cudaStreamWaitEvent(main, done));
}

bool SideStream::has_begun() const {
  return std::any_of(begun_.begin(), begun_.end(), [](const Begun& each) { return !each.recorded; });
}

void SideStream::abandon() noexcept {
  if (has_begun()) (void)cudaStreamSynchronize(side_);
  for (const Begun& each : begun_) spare_.push_back(each.done);
  begun_.clear();
}

}  // namespace cohort::distribute::collective
