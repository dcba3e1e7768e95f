#include "cohort/distribute/strategies/communication.h"

#include <algorithm>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/collective/replica_devices.h"
#include "cohort/distribute/strategies/worker_agreement.h"

namespace cohort::distribute {
namespace {

constexpr const char* kInStep = "MultiWorkerMirroredStrategy";

// Why these devices cannot reduce among themselves; empty where they can.
std::string obstacle(const std::vector<Device*>& devices) {
  for (const Device* device : devices) {
    if (device->type() != "GPU") return device->name() + " is no GPU";
  }
  const DeviceGroups* groups = device_groups("GPU");
  return groups ? groups->missing() : "this build of Cohort has no NCCL";
}

bool are_all(std::string_view type, const std::vector<Device*>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](const Device* each) { return each->type() == type; });
}

std::vector<std::int64_t> hardware_of(const std::vector<Device*>& devices) {
  std::vector<std::int64_t> hashes;
  for (const Device* device : devices) hashes.push_back(hash_of(device_groups("GPU")->hardware_of(*device)));
  return hashes;
}

std::string others_of(const collective::Communicator& workers) {
  std::vector<std::string> names;
  for (int rank = 0; rank < workers.size(); ++rank) {
    if (rank != workers.rank()) names.push_back(workers.name_of(rank));
  }
  return join(names);
}

// Of all workers' devices, in order, the first two that are the same piece of hardware.
std::optional<std::pair<std::size_t, std::size_t>> same_hardware(const std::vector<std::int64_t>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto other = std::find(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), all[i]);
    if (other != all.end()) return std::pair(i, static_cast<std::size_t>(other - all.begin()));
  }
  return std::nullopt;
}

// Why the devices of all workers cannot reduce among themselves; empty where they can. The same on all workers, but for
// words.
std::string common_obstacle(collective::Communicator& workers, const std::vector<Device*>& devices) {
  const std::string own = obstacle(devices);
  std::vector<std::int32_t> blocked(static_cast<std::size_t>(workers.size()));
  const std::int32_t here = own.empty() ? 0 : 1;
  workers.all_gather(&here, blocked.data(), 1, DType::Int32);
  const auto first = std::find(blocked.begin(), blocked.end(), 1);
  if (here != 0) return own;
  if (first != blocked.end()) return workers.name_of(static_cast<int>(first - blocked.begin())) + " says why not";
  const std::vector<std::int64_t> hardware = hardware_of(devices);
  std::vector<std::int64_t> all(devices.size() * blocked.size());
  workers.all_gather(hardware.data(), all.data(), static_cast<std::int64_t>(devices.size()), DType::Int64);
  const auto shared = same_hardware(all);
  if (!shared) return {};
  const auto owner = [&](std::size_t device) { return workers.name_of(static_cast<int>(device / devices.size())); };
  return owner(shared->first) + " and " + owner(shared->second) + " have the same GPU";
}

}  // namespace

Communication choose_communication(const std::vector<Device*>& devices) {
  if (const std::string why = obstacle(devices); !why.empty()) {
    return {.group = {.gathers_rows = are_all("CPU", devices)}, .chosen = "the host: " + why};
  }
  const auto join_devices = [devices] {
    const DeviceGroups& groups = *device_groups("GPU");
    return groups.join({.id = groups.make_id(),
                        .devices = devices,
                        .size = static_cast<int>(devices.size()),
                        .others = "the other replicas"});
  };
  return {.group = {.join_devices = join_devices}, .chosen = device_groups("GPU")->name()};
}

void check_communication(const std::string& implementation, const std::vector<Device*>& devices) {
  if (implementation == "AUTO" || implementation == "RING") return;
  if (implementation != "NCCL") {
    throw invalid_argument(kInStep, "implementation must be AUTO, RING or NCCL", {{"implementation", implementation}});
  }
  if (are_all("GPU", devices)) return;
  throw invalid_argument(kInStep, "NCCL is for workers whose devices are GPUs", {{"devices", device_names(devices)}},
                         "Leave implementation at AUTO, or give options.devices GPUs.");
}

Communication agree_on_communication(const std::string& implementation, const std::vector<Device*>& devices,
                                     const std::shared_ptr<collective::Communicator>& workers,
                                     const collective::CommunicatorOptions& options) {
  std::int32_t others = are_all("CPU", devices) ? 0 : 1;
  workers->all_reduce(&others, 1, DType::Int32);
  const ReplicaGroup::Options by_hosts{.gathers_rows = others == 0};
  if (implementation == "RING") return {.group = by_hosts};
  if (const std::string why = common_obstacle(*workers, devices); !why.empty()) {
    if (implementation == "AUTO") return {.group = by_hosts, .chosen = "RING (" + why + ")"};
    throw failed_precondition(kInStep, "NCCL is for workers each of which has GPUs of its own and the library",
                              {{"obstacle", why}}, "Leave implementation at AUTO.");
  }
  const auto join_devices = [devices, workers, options] {
    const DeviceGroups& groups = *device_groups("GPU");
    std::vector<std::byte> id = groups.make_id();  // the first one's counts
    broadcast_bytes(*workers, id);
    return groups.join({.id = std::move(id),
                        .devices = devices,
                        .first = workers->rank() * static_cast<int>(devices.size()),
                        .size = workers->size() * static_cast<int>(devices.size()),
                        .start_timeout = options.start_timeout,
                        .timeout = options.timeout,
                        .dead_after = options.dead_after,
                        .others = others_of(*workers),
                        .look = [workers] { workers->check(); },
                        .tell = [workers](const Error& error) { workers->abort(error.what()); }});
  };
  return {.group = {.join_devices = join_devices}, .chosen = device_groups("GPU")->name()};
}

}  // namespace cohort::distribute
