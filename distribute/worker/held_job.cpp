#include "cohort/distribute/worker/held_job.h"

#include <algorithm>

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

HeldJob::HeldJob(std::uint64_t id, const proto::HelloProto& hello, const Surroundings& task)
    : id(id),
      name(hello.led_job()),
      key(hello.job_key()),
      memory(std::make_shared<MemoryBudget>(task.limits.memory_limit, "memory_limit", task.memory)),
      pipelines(constants, task.limits.data_roots),
      parameter_server(constants, 0, memory),
      closures(constants, pipelines, task.ps_addresses, id, task.incarnation, task.ps_links, task.devices,
               task.limits.threads, memory) {}

void HeldJob::release(const Request<Method::Release>& request) {
  // A repeat is answered when the first one is done: what is told after the answer must not go with it.
  std::lock_guard lock(release_mutex_);
  if (request.head.closure > 0 && request.head.closure <= last_release_) return;
  last_release_ = std::max(last_release_, request.head.closure);
  if (request.metadata.generation() > generation_) {
    generation_ = request.metadata.generation();
    pipelines.release_all();
    closures.release_all();
  }
  pipelines.release(request.metadata);
  closures.release(request.metadata);
  parameter_server.release(request.metadata);
}

void HeldJob::describe(proto::TaskStatusProto& status) const {
  status.set_led_job(name);
  status.set_recoveries(recoveries);
  const std::uint64_t ended = requests.ended.get(), begun = requests.begun.get();
  status.set_requests(begun);
  status.set_in_hand(begun - std::min(begun, ended));
  status.set_bytes_received(requests.bytes_received.get());
  status.set_bytes_sent(requests.bytes_sent.get());
  closures.describe(status);
  parameter_server.describe(status);
}

}  // namespace cohort::distribute
