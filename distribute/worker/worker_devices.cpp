#include "cohort/distribute/worker/worker_devices.h"

#include <algorithm>

#include "cohort/core/thread_share.h"
#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/collective/replica_devices.h"
#include "cohort/distribute/collective/run_in_step.h"

namespace cohort::distribute {
namespace {

int replicas_on(const std::vector<Device*>& devices) { return std::max(1, static_cast<int>(devices.size())); }

int share_of_each(int threads, int replicas) { return threads == 0 ? 0 : std::max(1, threads / replicas); }

}  // namespace

WorkerDevices::WorkerDevices(std::vector<Device*> devices, int threads)
    : follows_default_(devices.empty()),
      threads_of_each_(share_of_each(threads, replicas_on(devices))),
      replicas_(static_cast<std::size_t>(replicas_on(devices))),
      group_(replicas_on(devices)),
      threads_(replicas_on(devices) - 1) {
  for (int i = 0; i < size(); ++i) {
    Replica& replica = replicas_[static_cast<std::size_t>(i)];
    replica.collective = Tensor::of_resource(group_.member(i));
    if (!follows_default_) move_to(replica, *devices[static_cast<std::size_t>(i)]);
  }
}

void WorkerDevices::move_to(Replica& replica, Device& device) const {
  replica.device = &device;
  replica.copies = device.host_readable() ? nullptr : std::make_unique<DeviceCopies>(device);
  replica.share = std::make_shared<LocalVariable>(Tensor::full({}, replica.known_share, DType::Float32, device),
                                                  VariableOptions{.name = "loss_share"});
  replica.loss_share = Tensor::of_resource(replica.share);
}

void WorkerDevices::follow_default() {
  if (follows_default_ && replicas_[0].device != &default_device()) move_to(replicas_[0], default_device());
}

void WorkerDevices::divide(std::int64_t samples) {
  std::int64_t first = 0;
  for (int i = 0; i < size(); ++i) {
    Replica& replica = replicas_[static_cast<std::size_t>(i)];
    replica.samples = rows_of_replica(samples, size(), i);
    replica.first_sample = first;
    first += replica.samples;
    // What the devices have summed before has been read.
    if (group_.is_silent(i) != (replica.samples == 0)) group_.set_silent(i, replica.samples == 0);
    const float share =
        samples == 0 ? 0.0f : static_cast<float>(static_cast<double>(replica.samples) / static_cast<double>(samples));
    if (share == replica.known_share) continue;
    replica.share->replace_value(Tensor::full({}, share, DType::Float32, *replica.device));
    replica.known_share = share;
  }
}

void WorkerDevices::run(const std::function<void(int replica)>& work) {
  ReplicaGroup* const groups[] = {&group_};
  run_in_step(threads_, groups, group_.size(), [&](int replica) {
    const ThreadShare share(threads_of_each_);
    work(replica);
  });
}

std::vector<Device*> worker_devices(const std::string& who, const std::vector<std::string>& names) {
  if (!names.empty()) return replica_devices(who, "devices", names);
  // What was chosen otherwise stays chosen.
  if (default_device().name() != "GPU:0") return {};
  std::vector<Device*> all = replica_devices(who, "devices", {});
  return all.size() > 1 ? all : std::vector<Device*>{};
}

Tensor seen_from(const Tensor& value, Device& device) {
  const bool shares =
      &value.device() != &device && value.device().host_readable() && device.host_readable() && is_plain(value.dtype());
  if (!shares) return value.to(device);
  return Tensor::over(value.dtype(), value.shape(), Buffer::borrow(device, value.raw(), value.bytes(), [value] {}));
}

}  // namespace cohort::distribute
