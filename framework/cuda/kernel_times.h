#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/timeline.h"

namespace cohort::cuda {

class CudaDevice;

// Times of what a GPU does, by events before and after it in its streams. They become spans of the timelines whose
// threads put the work there, by the host's clock, once the work is done. Used while the device is held.
class KernelTimes {
 public:
  // `mutex` is the one that holds the device.
  KernelTimes(CudaDevice& device, std::recursive_mutex& mutex);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;

  // Consecutive work in one stream, timed where the calling thread has a timeline. Without one it costs a load of a
  // thread-local pointer.
  class Stretch {
   public:
    // Begins where the stream ends now. Without effect while `times` is nullptr.
    Stretch(KernelTimes* times, DeviceStream stream) {
      if (times && Timeline::current()) begin(*times, stream);
    }
    ~Stretch() {
      if (times_) --times_->queue(stream_).open;
    }
    Stretch(const Stretch&) = delete;
    // What was put into the stream since the beginning, or the last such call, was this kernel, or this copy.
    void end_kernel(const KernelCall& call) {
      if (times_) end(call);
    }
    void end_copy(std::size_t bytes) {
      if (times_) end(bytes);
    }

   private:
    void begin(KernelTimes& times, DeviceStream stream);
    void end(const KernelCall& call);
    void end(std::size_t bytes);
    void end(Timeline::Span span);

    KernelTimes* times_ = nullptr;
    DeviceStream stream_ = DeviceStream::Compute;
    std::shared_ptr<TimelineLane> lane_;
    std::size_t last_ = 0;  // point where the next kernel begins
  };

 private:
  // A span whose times are not yet known.
  struct Pending {
    std::shared_ptr<TimelineLane> lane;
    Timeline::Span span;
    std::size_t begin, end;  // points
  };
  // What is timed in one stream. Events are kept and used again.
  struct Queue {
    std::vector<cudaEvent_t> events;
    std::size_t points = 0;  // events in use; the first one's time is known
    Timeline::Clock::time_point first_time;
    std::vector<Pending> pending;
    std::weak_ptr<TimelineLane> lane;  // the one that was timed last
    int open = 0;                      // stretches: their points must stay
  };

  Queue& queue(DeviceStream stream) { return queues_[stream == DeviceStream::Compute ? 0 : 1]; }
  std::size_t mark(DeviceStream stream);
  void anchor(DeviceStream stream);
  void collect(DeviceStream stream) noexcept;
  std::vector<Timeline::Clock::time_point> times_of(Queue& queue);

  CudaDevice& device_;
  std::recursive_mutex& mutex_;
  Queue queues_[2];
};

}  // namespace cohort::cuda
