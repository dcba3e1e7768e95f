#include "cohort/distribute/strategies/parameter_server_variables.h"

#include <algorithm>

#include "cohort/core/device_spec.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/shards.h"

namespace cohort::distribute {
namespace {

// A step costs a round trip for each ps it meets, which is worth more than balance below this many bytes.
constexpr std::int64_t kTogether = 64 << 10;

std::int64_t bytes_of(const TensorSpec& spec) {
  return spec.shape.num_elements() * static_cast<std::int64_t>(size_of(spec.dtype));
}

}  // namespace

ParameterServerVariables::ParameterServerVariables(std::shared_ptr<TaskConnections> connections,
                                                   Partitioner partitioner, bool round_robin)
    : connections_(std::move(connections)),
      owner_(std::make_shared<RemoteOwner>(connections_)),
      partitioner_(std::move(partitioner)),
      round_robin_(round_robin),
      bytes_(static_cast<std::size_t>(connections_->num_ps())) {}

// The order in which a program makes its variables is part of what it is, so the name finds the variable again.
std::string ParameterServerVariables::next_name(const std::string& name) {
  std::lock_guard lock(mutex_);
  return std::to_string(made_++) + "/" + name;
}

int ParameterServerVariables::choose_ps(const InitialValue& initial, const VariableOptions& options) {
  if (options.colocate_with) {
    const auto* beside = dynamic_cast<const RemoteVariable*>(options.colocate_with.get());
    if (beside) return beside->ps();
  }
  const DeviceSpec wanted = current_device_spec();
  const int num_ps = connections_->num_ps();
  std::lock_guard lock(mutex_);
  int ps = 0;
  if (wanted.job == "ps" && wanted.task) {
    if (*wanted.task >= num_ps) {
      throw invalid_argument("ParameterServerStrategy", "a device of the cluster is expected",
                             {{"device", wanted.to_string()}, {"ps tasks", num_ps}});
    }
    ps = *wanted.task;
  } else if (round_robin_) {
    ps = next_ps_++ % num_ps;
  } else {
    const auto fewer = [](std::int64_t a, std::int64_t b) { return a / kTogether < b / kTogether; };
    ps = static_cast<int>(std::min_element(bytes_.begin(), bytes_.end(), fewer) - bytes_.begin());
  }
  bytes_[static_cast<std::size_t>(ps)] += bytes_of(initial.spec());
  return ps;
}

std::shared_ptr<VariableBody> ParameterServerVariables::create_on(int ps, const InitialValue& initial,
                                                                  const VariableOptions& options) {
  const std::string name = next_name(options.name);
  ConstantTable constants;
  proto::CreateVariableProto meta;
  meta.set_name(name);
  write_spec(initial.spec(), *meta.mutable_spec());
  meta.set_initial(serialize(initial.graph(), constants));
  // Before it is there: one that is found there must not go meanwhile with others that name it.
  auto variable = std::make_shared<RemoteVariable>(owner_, name, ps, initial.spec(), options);
  connections_->call<Method::CreateVariable>(ps, {.flags = kWrites}, meta, constants);
  return variable;
}

std::shared_ptr<VariableBody> ParameterServerVariables::create(const InitialValue& initial,
                                                               const VariableOptions& options) {
  if (options.synchronization == Synchronization::OnRead) return nullptr;
  const DeviceSpec wanted = current_device_spec();
  if (wanted.job && *wanted.job != "ps" && !options.colocate_with) return nullptr;
  if (options.aggregation == Aggregation::OnlyFirstReplica && !options.colocate_with) {
    return create_on(RemoteVariable::kEveryPs, initial, options);
  }
  const Shape& shape = initial.spec().shape;
  if (partitioner_ && shape.rank() > 0 && !options.colocate_with) {
    const std::vector<std::int64_t> rows =
        partition_sizes(partitioner_, shape, initial.spec().dtype, options.path.empty() ? options.name : options.path);
    if (rows.size() > 1) {
      std::vector<Variable> parts;
      std::int64_t next = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const VariableOptions own = shard_options(options, static_cast<std::int64_t>(i));
        const InitialValue value = initial.rows(next, rows[i]);
        parts.push_back(Variable(create_on(choose_ps(value, own), value, own)));
        next += rows[i];
      }
      return join_shards(std::move(parts), options);
    }
  }
  return create_on(choose_ps(initial, options), initial, options);
}

}  // namespace cohort::distribute
