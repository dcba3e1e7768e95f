#include "cohort/cuda/kernel_times.h"

#include <utility>

#include "cohort/core/kernel_work.h"
#include "cohort/cuda/check.h"
#include "cohort/cuda/cuda_device.h"

namespace cohort::cuda {
namespace {

// Spans that may wait for their times: whoever adds more collects them first.
constexpr std::size_t kMostPending = 4096;

}  // namespace

KernelTimes::KernelTimes(CudaDevice& device, std::recursive_mutex& mutex) : device_(device), mutex_(mutex) {}

KernelTimes::~KernelTimes() {
  for (Queue& queue : queues_) {
    for (cudaEvent_t event : queue.events) (void)cudaEventDestroy(event);
  }
}

// The next point of a stream: where it ends now.
std::size_t KernelTimes::mark(DeviceStream stream) {
  Queue& at = queue(stream);
  if (at.points == at.events.size()) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    at.events.push_back(event);
  }
  check(cudaEventRecord(at.events[at.points], device_.stream(stream)));
  return at.points++;
}

// Finds when, by the host's clock, the GPU passes a point. All others are timed from there.
void KernelTimes::anchor(DeviceStream stream) {
  Queue& at = queue(stream);
  at.points = 0;
  mark(stream);
  check(cudaEventSynchronize(at.events[0]));
  at.first_time = Timeline::Clock::now();
}

// From point to point, as the difference of two that are far apart is coarse.
std::vector<Timeline::Clock::time_point> KernelTimes::times_of(Queue& at) {
  check(cudaEventSynchronize(at.events[at.points - 1]));
  std::vector<Timeline::Clock::time_point> times{at.first_time};
  double since_first = 0;
  for (std::size_t i = 1; i < at.points; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, at.events[i - 1], at.events[i]));
    since_first += milliseconds;
    times.push_back(at.first_time + std::chrono::duration_cast<Timeline::Clock::duration>(
                                        std::chrono::duration<double, std::milli>(since_first)));
  }
  return times;
}

void KernelTimes::collect(DeviceStream stream) noexcept {
  Queue& at = queue(stream);
  if (at.pending.empty()) return;
  std::vector<Pending> pending = std::exchange(at.pending, {});
  try {
    const auto times = times_of(at);
    for (Pending& each : pending) {
      each.span.begin = times[each.begin];
      each.span.end = times[each.end];
      each.lane->add(std::move(each.span));
    }
    // The last point is the first from now on.
    std::swap(at.events[0], at.events[at.points - 1]);
    at.first_time = times.back();
    at.points = 1;
  } catch (...) {
    // What went wrong on the device is for those to report who wait for its work.
    for (const Pending& each : pending) each.lane->drop(1);
    at.lane.reset();
  }
}

void KernelTimes::Stretch::begin(KernelTimes& times, DeviceStream stream) {
  const std::string name = times.device_.name() + (stream == DeviceStream::Compute ? " compute" : " copies");
  stream_ = stream;
  lane_ = Timeline::current()->lane(name, [&times, stream] {
    std::lock_guard lock(times.mutex_);
    (void)cudaSetDevice(times.device_.index());
    times.collect(stream);
  });
  Queue& at = times.queue(stream);
  if (at.open == 0) {
    const bool is_new = at.lane.lock() != lane_;
    if (is_new || at.pending.size() > kMostPending) times.collect(stream);
    if (is_new) times.anchor(stream);
    at.lane = lane_;
    if (stream == DeviceStream::Compute) count_memory(times.device_, *lane_);
  }
  last_ = times.mark(stream);
  ++at.open;
  times_ = &times;
}

void KernelTimes::Stretch::end(const KernelCall& call) { end(kernel_span(call)); }

void KernelTimes::Stretch::end(std::size_t bytes) { end(copy_span(bytes)); }

void KernelTimes::Stretch::end(Timeline::Span span) {
  const std::size_t begin = std::exchange(last_, times_->mark(stream_));
  times_->queue(stream_).pending.push_back({lane_, std::move(span), begin, last_});
}

}  // namespace cohort::cuda
