#include <cuda_runtime_api.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cohort/cuda/check.h"
#include "cohort/distribute/collective/nccl/nccl_group.h"

namespace cohort::distribute::collective {
namespace {

using namespace std::chrono_literals;

// NCCL's calls to join wait for all members, however long: a thread of their own makes them, and is left to itself when
// somebody does not come.
struct Joining {
  std::mutex mutex;  // guards what follows
  std::condition_variable done;
  std::vector<ncclComm_t> communicators;
  ncclResult_t result = ncclInProgress;
  bool abandoned = false;
};

void join_all(const DeviceGroupSetUp& set_up, const std::shared_ptr<Joining>& joining) {
  const NcclLibrary& nccl = nccl_library();
  ncclUniqueId id;
  std::memcpy(&id, set_up.id.data(), sizeof id);
  std::vector<ncclComm_t> communicators(set_up.devices.size());
  ncclResult_t result = nccl.begin_group();
  for (std::size_t i = 0; i < communicators.size() && result == ncclSuccess; ++i) {
    (void)cudaSetDevice(set_up.devices[i]->index());
    result = nccl.join(&communicators[i], set_up.size, id, set_up.first + static_cast<int>(i));
  }
  const ncclResult_t ended = nccl.end_group();
  if (result == ncclSuccess) result = ended;
  std::lock_guard lock(joining->mutex);
  joining->communicators = communicators;
  joining->result = result;
  joining->done.notify_all();
  if (!joining->abandoned || result != ncclSuccess) return;
  for (const ncclComm_t communicator : communicators) nccl.abort(communicator);
}

// NCCL tells machines apart by this variable where it is set.
std::string host_identity() {
  if (const char* given = std::getenv("NCCL_HOSTID")) return given;
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::string(name.data()) + " " + boot;
}

class NcclGroups : public DeviceGroups {
 public:
  const char* name() const override { return "NCCL"; }
  std::string missing() const override {
    try {
      nccl_library();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  std::string hardware_of(const Device& device) const override {
    std::array<char, 64> bus{};
    cuda::check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device.index()));
    return host_identity() + " " + bus.data();
  }
  std::vector<std::byte> make_id() const override {
    ncclUniqueId id;
    nccl_library().check(nccl_library().make_id(&id));
    std::vector<std::byte> bytes(sizeof id);
    std::memcpy(bytes.data(), &id, sizeof id);
    return bytes;
  }
  std::unique_ptr<DeviceGroup> join(const DeviceGroupSetUp& set_up) const override;
};

std::unique_ptr<DeviceGroup> NcclGroups::join(const DeviceGroupSetUp& set_up) const {
  if (set_up.id.size() != sizeof(ncclUniqueId)) {
    throw internal_error("NCCL", "the id of another library's group", {{"bytes", set_up.id.size()}});
  }
  nccl_library();
  const auto joining = std::make_shared<Joining>();
  std::thread([set_up, joining] { join_all(set_up, joining); }).detach();
  const auto deadline = std::chrono::steady_clock::now() + set_up.start_timeout;
  std::unique_lock lock(joining->mutex);
  try {
    while (!joining->done.wait_for(lock, 50ms, [&] { return joining->result != ncclInProgress; })) {
      if (set_up.look) set_up.look();
      if (std::chrono::steady_clock::now() < deadline) continue;
      throw Error(ErrorCode::DeadlineExceeded, "NCCL", "all GPUs of the job must join within the start's timeout",
                  {{"awaited", set_up.others}, {"milliseconds", set_up.start_timeout.count()}},
                  "See whether the machines reach one another: NCCL_DEBUG=INFO tells more.");
    }
    nccl_library().check(joining->result);
  } catch (...) {
    joining->abandoned = true;
    throw;
  }
  return std::make_unique<NcclGroup>(set_up, joining->communicators);
}

[[maybe_unused]] const bool nccl_registered = register_device_groups("GPU", std::make_unique<NcclGroups>());

}  // namespace
}  // namespace cohort::distribute::collective
