#include "cohort/distribute/strategies/worker_variables.h"

#include <cstring>

#include "cohort/core/device_spec.h"
#include "cohort/distribute/strategies/worker_agreement.h"
#include "cohort/model/model.h"
#include "cohort/ops/math.h"

namespace cohort::distribute {
namespace {

void take_first_workers(collective::Communicator& workers, ReplicaSet& replicas, LocalVariable& variable) {
  const bool apart = variable.options().synchronization == Synchronization::OnRead;
  const Aggregation aggregation = variable.options().aggregation;
  if (apart && aggregation == Aggregation::OnlyFirstReplica) return;  // each replica's own affair
  const Tensor value = variable.shared_value().to_host().clone();
  if (apart && aggregation == Aggregation::Sum) {
    // What has been summed up so far, in an epoch that goes on, counts once.
    std::memset(value.raw(), 0, value.bytes());
  } else {
    broadcast_bytes(workers, {static_cast<std::byte*>(value.raw()), value.bytes()});
  }
  if (workers.rank() > 0) variable.replace_value(value.to(replicas.home()).clone());
}

}  // namespace

void begin_in_step(collective::Communicator& workers, ReplicaSet& replicas, const TracedGraph& step) {
  check_same_manifest(workers, manifest_of(step));
  for (const Tensor& capture : step.captures) {
    const auto variable = std::dynamic_pointer_cast<LocalVariable>(capture.resource());
    if (variable) take_first_workers(workers, replicas, *variable);
  }
}

// Sums and means of the workers' own. All of them list the variables in the same order.
void gather_over_workers(collective::Communicator& workers, ReplicaSet& replicas, Model& model) {
  const EagerScope eager;
  const DeviceScope host(DeviceSpec::from_string("CPU:0"));
  Variables apart = model.non_trainable_variables();
  for (const Ref<Metric>& metric : model.metrics()) {
    apart.insert(apart.end(), metric->variables().begin(), metric->variables().end());
  }
  for (const Variable& each : apart) {
    const auto variable = std::dynamic_pointer_cast<LocalVariable>(each.body());
    if (!variable || each.synchronization() != Synchronization::OnRead) continue;
    Tensor value = replicas.variables().made_here(*variable);
    workers.all_reduce(value.raw(), value.num_elements(), value.dtype());
    if (each.aggregation() == Aggregation::Mean) {
      value = ops::cast(value / static_cast<double>(workers.size()), value.dtype());
    }
    replicas.variables().set_whole(*variable, value);
  }
}

}  // namespace cohort::distribute
