#include "cohort/distribute/strategies/worker_variables.h"

#include <cstring>
#include <optional>

#include "cohort/core/device_spec.h"
#include "cohort/distribute/strategies/worker_agreement.h"
#include "cohort/model/model.h"
#include "cohort/ops/math.h"

namespace cohort::distribute {
namespace {

void take_first_value(collective::Communicator& workers, ReplicaSet& replicas, LocalVariable& variable) {
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

std::vector<std::shared_ptr<LocalVariable>> variables_apart(Model& model) {
  Variables all = model.non_trainable_variables();
  for (const Ref<Metric>& metric : model.metrics()) {
    all.insert(all.end(), metric->variables().begin(), metric->variables().end());
  }
  std::vector<std::shared_ptr<LocalVariable>> apart;
  for (const Variable& each : all) {
    auto variable = std::dynamic_pointer_cast<LocalVariable>(each.body());
    if (variable && each.synchronization() == Synchronization::OnRead) apart.push_back(std::move(variable));
  }
  return apart;
}

std::vector<std::shared_ptr<LocalVariable>> variables_of(const TracedGraph& step) {
  std::vector<std::shared_ptr<LocalVariable>> variables;
  for (const Tensor& capture : step.captures) {
    auto variable = std::dynamic_pointer_cast<LocalVariable>(capture.resource());
    if (variable) variables.push_back(std::move(variable));
  }
  return variables;
}

void take_first_values(collective::Communicator& workers, ReplicaSet& replicas,
                       const std::vector<std::shared_ptr<LocalVariable>>& variables) {
  for (const std::shared_ptr<LocalVariable>& variable : variables) take_first_value(workers, replicas, *variable);
}

void gather_over_workers(collective::Communicator& workers, ReplicaSet& replicas, Model& model) {
  const EagerScope eager;
  const DeviceScope host(DeviceSpec::from_string("CPU:0"));
  for (const std::shared_ptr<LocalVariable>& variable : variables_apart(model)) {
    const Aggregation aggregation = variable->options().aggregation;
    const std::optional<Tensor> own = replicas.variables().made_together(*variable);
    Tensor value = (own ? *own : variable->shared_value().to_host()).clone();
    // What a callback or a backup has written, all of them have written: it counts once.
    const bool counts_once = !own || aggregation == Aggregation::OnlyFirstReplica;
    if (counts_once && workers.rank() > 0) std::memset(value.raw(), 0, value.bytes());
    workers.all_reduce(value.raw(), value.num_elements(), value.dtype());
    if (!counts_once && aggregation == Aggregation::Mean) {
      value = ops::cast(value / static_cast<double>(workers.size()), value.dtype());
    }
    replicas.variables().set_whole(*variable, value);
  }
}

}  // namespace cohort::distribute
