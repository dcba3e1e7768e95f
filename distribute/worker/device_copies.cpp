#include "cohort/distribute/worker/device_copies.h"

#include <algorithm>

namespace cohort::distribute {
namespace {

Tensor pinned_like(const Tensor& tensor, Device& device) {
  auto memory = std::make_shared<PinnedMemory>(device, tensor.bytes());
  return Tensor::over(tensor.dtype(), tensor.shape(),
                      Buffer::borrow(cpu(), memory->data(), memory->bytes(), [memory] {}));
}

}  // namespace

DeviceCopies::DeviceCopies(Device& device)
    : device_(device), computed_(device.make_event()), written_(device.make_event()), fetched_(device.make_event()) {}

void DeviceCopies::write(const std::vector<Write>& writes) {
  if (writes.empty()) return;
  for (const Write& write : writes) {
    if (!*write.way) *write.way = std::make_unique<PinnedMemory>(device_, write.value.bytes());
    write.variable->prepare_write();  // before the copies: it may take work of the compute stream
  }
  written_->wait();  // what went before has left the pinned memory
  follow_compute();
  for (const Write& write : writes) {
    char* way = (*write.way)->data();
    write.value.device().copy_to_host(way, write.value.raw(), write.value.bytes());
    device_.enqueue_copy(write.variable->kernel_pointer(), way, write.value.bytes(), DeviceStream::Copy);
  }
  written_->record(DeviceStream::Copy);
  written_->delay(DeviceStream::Compute);
}

void DeviceCopies::follow_compute() {
  computed_->record(DeviceStream::Compute);
  computed_->delay(DeviceStream::Copy);
}

void DeviceCopies::fetch(const Tensor& source, Tensor& target) {
  if (&source.device() != &device_) {
    target = source.to_host();
    return;
  }
  if (!target.defined() || !target.owns_memory() || target.buffer()->bytes() < source.bytes()) {
    target = pinned_like(source, device_);
  } else {
    target.renew_over(source.dtype(), source.shape(), target.buffer());
  }
  device_.enqueue_copy(target.raw(), source.raw(), source.bytes(), DeviceStream::Copy);
}

void DeviceCopies::finish_fetches() {
  fetched_->record(DeviceStream::Copy);
  fetched_->wait();
  device_.check();
}

void DeviceCopies::copy_to_host(const Tensors& sources, Tensors& copies) {
  kept_.resize(std::max(kept_.size(), sources.size()));
  follow_compute();
  for (std::size_t i = 0; i < sources.size(); ++i) fetch(sources[i], kept_[i]);
  finish_fetches();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    copies.push_back(&sources[i].device() == &device_ ? kept_[i].clone() : kept_[i]);
  }
}

}  // namespace cohort::distribute
