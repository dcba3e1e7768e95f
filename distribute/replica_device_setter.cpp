#include "cohort/distribute/replica_device_setter.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

int count_ps_tasks(const ReplicaDeviceSetterOptions& options, const DeviceSpec& ps_device) {
  if (options.cluster.empty()) return options.ps_tasks;
  const std::string job = ps_device.job.value_or("ps");
  return options.cluster.has_job(job) ? static_cast<int>(options.cluster.num_tasks(job)) : 0;
}

// One task after the other. Copies count together.
PsStrategy one_after_the_other(int ps_tasks) {
  struct Next {
    std::mutex mutex;
    int task = 0;
  };
  return [next = std::make_shared<Next>(), ps_tasks](const DeviceRequest&) {
    std::lock_guard lock(next->mutex);
    return std::exchange(next->task, (next->task + 1) % ps_tasks);
  };
}

}  // namespace

PsStrategy byte_balanced(int ps_tasks) {
  if (ps_tasks < 1) throw invalid_argument("byte_balanced", "at least one task is expected", {{"ps_tasks", ps_tasks}});
  struct Load {
    std::mutex mutex;
    std::vector<std::int64_t> bytes;
  };
  auto load = std::make_shared<Load>();
  load->bytes.resize(static_cast<std::size_t>(ps_tasks));
  return [load](const DeviceRequest& variable) {
    std::lock_guard lock(load->mutex);
    const auto least = std::min_element(load->bytes.begin(), load->bytes.end());
    *least += variable.shape.num_elements() * static_cast<std::int64_t>(size_of(variable.dtype));
    return static_cast<int>(least - load->bytes.begin());
  };
}

DeviceFunction replica_device_setter(ReplicaDeviceSetterOptions options) {
  const DeviceSpec ps = DeviceSpec::from_string(options.ps_device);
  const DeviceSpec worker = DeviceSpec::from_string(options.worker_device);
  const int ps_tasks = count_ps_tasks(options, ps);
  if (ps_tasks < 0) {
    throw invalid_argument("replica_device_setter", "a number of tasks is expected", {{"ps_tasks", ps_tasks}});
  }
  if (ps_tasks == 0) return {};
  const PsStrategy choose = options.ps_strategy ? options.ps_strategy : one_after_the_other(ps_tasks);
  return [=](const DeviceRequest& request) {
    const DeviceSpec& asked = request.device;
    if (!request.is_variable()) return worker.make_merged_spec(asked);
    DeviceSpec chosen = ps;
    if (ps.job && (!asked.job || *asked.job == *ps.job)) chosen.task = choose(request);
    return chosen.make_merged_spec(asked);
  };
}

}  // namespace cohort::distribute
