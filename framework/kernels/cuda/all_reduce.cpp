#include <memory>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/cuda/check.h"
#include "cohort/kernels/cuda/stream.h"

namespace cohort::kernels::cuda {
namespace {

// Values of one call on the host, in memory that is kept for the next.
class HostValues {
 public:
  explicit HostValues(const std::vector<Collective::Part>& parts) {
    for (const Collective::Part& part : parts) {
      bytes_.push_back(static_cast<std::size_t>(part.elements) * size_of(part.dtype));
      memory_.emplace_back(bytes_.back());
      pointers_.push_back(memory_.back().data());
    }
  }
  void take(Device& device, void* const* values) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) device.copy_to_host(pointers_[i], values[i], bytes_[i]);
  }
  void give(Device& device, void* const* values) const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) device.copy_from_host(values[i], pointers_[i], bytes_[i]);
  }
  void* const* pointers() const { return pointers_.data(); }

 private:
  std::vector<std::size_t> bytes_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<void*> pointers_;
};

void check_not_recording(const Device& device) {
  if (device.is_recording()) throw unimplemented("GPU", "what goes through the host is not recorded");
}

// What a kernel of one call knows.
class DeviceReduction {
 public:
  explicit DeviceReduction(const KernelSpec& spec) : device_(spec.device()) {
    for (int i = 0; i < spec.num_outputs(); ++i) parts_.push_back({spec.output(i).dtype, spec.output_size(i)});
  }
  void all_reduce(const KernelIO& io, Collective::Reduction reduction) {
    Collective& collective = collective_of(io);
    if (collective.enqueues()) return collective.enqueue(parts_, io.inputs + 1, io.outputs, reduction, io.stream);
    reduce_on_host(io, reduction);
  }
  void start(const KernelIO& io) {
    if (!collective_of(io).enqueues()) return reduce_on_host(io, Collective::Reduction::Sum);
    copy_parts(io);
    collective_of(io).start(parts_, io.outputs, io.stream);
  }
  void wait(const KernelIO& io) {
    if (collective_of(io).enqueues()) collective_of(io).wait(io.inputs + 1, io.stream);
    copy_parts(io);
  }

 private:
  static Collective& collective_of(const KernelIO& io) { return *static_cast<Collective*>(io.inputs[0]); }

  void reduce_on_host(const KernelIO& io, Collective::Reduction reduction) {
    check_not_recording(device_);
    if (!host_) host_ = std::make_unique<HostValues>(parts_);
    host_->take(device_, io.inputs + 1);
    collective_of(io).all_reduce(parts_, host_->pointers(), host_->pointers(), reduction);
    host_->give(device_, io.outputs);
  }
  // Where an output is not in its input's memory.
  void copy_parts(const KernelIO& io) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t bytes = static_cast<std::size_t>(parts_[i].elements) * size_of(parts_[i].dtype);
      if (io.outputs[i] == io.inputs[i + 1] || bytes == 0) continue;
      cohort::cuda::check(
          cudaMemcpyAsync(io.outputs[i], io.inputs[i + 1], bytes, cudaMemcpyDeviceToDevice, stream_of(io)));
    }
  }

  Device& device_;
  std::vector<Collective::Part> parts_;
  std::unique_ptr<HostValues> host_;  // whoever runs the kernel holds the device, so that one serves all
};

// Through the host, also where devices reduce among themselves: few values cross this way.
KernelFn make_gather_replicas(const KernelSpec& spec) {
  struct Gather {
    Device& device;
    std::vector<Collective::Part> parts;
    int replicas;
    HostValues own, all;
  };
  std::vector<Collective::Part> parts, all;
  for (int i = 1; i < spec.num_inputs(); ++i) parts.push_back({spec.input(i).dtype, spec.input_size(i)});
  for (int i = 0; i < spec.num_outputs(); ++i) all.push_back({spec.output(i).dtype, spec.output_size(i)});
  const auto gather = std::make_shared<Gather>(Gather{
      spec.device(), parts, static_cast<int>(spec.attr<std::int64_t>("replicas")), HostValues(parts), HostValues(all)});
  return [gather](const KernelIO& io) {
    check_not_recording(gather->device);
    gather->own.take(gather->device, io.inputs + 1);
    static_cast<Collective*>(io.inputs[0])
        ->gather(gather->parts, gather->replicas, gather->own.pointers(), gather->all.pointers());
    gather->all.give(gather->device, io.outputs);
  };
}

template <class Run>
KernelFn reduced_by(const KernelSpec& spec, const Run& run) {
  return [run, reduction = std::make_shared<DeviceReduction>(spec)](const KernelIO& io) { run(*reduction, io); };
}

KernelFn make_all_reduce(const KernelSpec& spec) {
  return reduced_by(spec, [](DeviceReduction& reduction, const KernelIO& io) {
    reduction.all_reduce(io, Collective::Reduction::Sum);
  });
}
KernelFn make_broadcast_first(const KernelSpec& spec) {
  return reduced_by(spec, [](DeviceReduction& reduction, const KernelIO& io) {
    reduction.all_reduce(io, Collective::Reduction::First);
  });
}
KernelFn make_all_reduce_start(const KernelSpec& spec) {
  return reduced_by(spec, [](DeviceReduction& reduction, const KernelIO& io) { reduction.start(io); });
}
KernelFn make_all_reduce_wait(const KernelSpec& spec) {
  return reduced_by(spec, [](DeviceReduction& reduction, const KernelIO& io) { reduction.wait(io); });
}

COHORT_KERNEL("AllReduce", kGPU, make_all_reduce);
COHORT_KERNEL("BroadcastFirst", kGPU, make_broadcast_first);
COHORT_KERNEL("GatherReplicas", kGPU, make_gather_replicas);
COHORT_KERNEL("AllReduceStart", kGPU, make_all_reduce_start);
COHORT_KERNEL("AllReduceWait", kGPU, make_all_reduce_wait);

}  // namespace
}  // namespace cohort::kernels::cuda
