#pragma once

namespace cohort {

// The queues of a device. What is put into one is done in order; the two run side by side.
enum class DeviceStream {
  // Kernels, and all copies that nobody asked to be elsewhere.
  Compute,
  // Copies that run beside the kernels.
  Copy,
};

// A point in a device's work, made by Device::make_event. Belongs to one thread at a time.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  // From now on it stands for the end of what the stream holds at this moment.
  virtual void record(DeviceStream stream) = 0;
  // What is put into the stream from now on begins when the point has been reached; the caller goes on at once.
  virtual void delay(DeviceStream stream) = 0;
  // The caller waits until the point has been reached. One that was never recorded counts as reached.
  virtual void wait() = 0;
};

// Work of the compute stream that is kept in order to be begun again, whole, as often as one likes: Device::record.
class Recording {
 public:
  virtual ~Recording() = default;
  // Puts all of it into the compute stream.
  virtual void launch() = 0;
  // False once memory of the device's own that it works with has moved: it must be recorded anew.
  virtual bool is_valid() const { return true; }
};

}  // namespace cohort
