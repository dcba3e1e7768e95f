#include "cohort/distribute/coordinator/placed_function.h"

#include <algorithm>

#include "cohort/core/device_spec.h"
#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/remote_variable.h"
#include "cohort/distribute/coordinator/same_on_replicas.h"
#include "cohort/distribute/coordinator/worker_replicas.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {
namespace {

// Whichever worker is free runs a closure: who asks for a certain one is told that this is not heeded.
void warn_of_certain_workers(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.device.empty()) continue;
    const DeviceSpec asked = DeviceSpec::from_string(node.device);
    if (asked.job != "worker" || !asked.task) continue;
    return log::warn(
        "ClusterCoordinator: '" + node.name + "' asks for " + node.device +
        ", but any worker may run a closure, and all of its ops but those of /job:ps. Say /job:worker, or run "
        "the graph in a Session, which tells workers apart.");
  }
}

// A variable of the chief's own may only be added to: what each closure adds is summed when its result is accepted.
bool accumulates(const VariableBody& variable) {
  return variable.options().synchronization == Synchronization::OnRead &&
         variable.options().aggregation == Aggregation::Sum;
}

Home home_of(const PlacedInput& input) {
  if (input.kind != PlacedInput::Kind::Resource) return {};
  if (const auto* remote = dynamic_cast<const RemoteVariable*>(input.resource.resource().get())) {
    if (remote->ps() == RemoteVariable::kEveryPs) return {Home::Kind::EveryServer, 0};
    return {Home::Kind::Server, remote->ps()};
  }
  const auto* local = dynamic_cast<const VariableBody*>(input.resource.resource().get());
  if (local && local->options().synchronization == Synchronization::OnRead && !accumulates(*local)) {
    throw failed_precondition("ClusterCoordinator", "the state of a metric must add up: workers count apart",
                              {{"variable", local->options().path}},
                              "Keep sums and counts with Aggregation::Sum, and make the figure of them in result().");
  }
  if (!local || !accumulates(*local)) {
    throw failed_precondition(
        "ClusterCoordinator", "what a function uses must lie on the cluster",
        {{"resource", input.resource.resource()->name()}, {"kind", input.resource.resource()->kind()}},
        "Make variables inside the strategy's scope, and pass iterators as arguments.");
  }
  return {};
}

const std::string& remote_name_of(const PlacedInput& input) {
  return dynamic_cast<const RemoteVariable&>(*input.resource.resource()).remote_name();
}

PlacedFunction::PsPart make_ps_part(int ps, const PartitionedGraph& parts, const std::vector<PlacedInput>& inputs) {
  const auto name_of = [&](int input) { return remote_name_of(inputs[static_cast<std::size_t>(input)]); };
  proto::RegisterServerProto metadata;
  ConstantTable constants;
  for (std::size_t round = 0; round < parts.rounds.size(); ++round) {
    for (const ServerExchange& exchange : parts.rounds[round]) {
      if (exchange.server != ps) continue;
      proto::ServerPartProto& part = *metadata.add_parts();
      part.set_round(static_cast<std::uint32_t>(round));
      part.set_graph(serialize(exchange.graph, constants));
      for (int resource : exchange.resources) part.add_resources(name_of(resource));
      part.set_writes(exchange.writes);
      for (int resource : exchange.fresh) part.add_fresh(name_of(resource));
    }
  }
  for (const ServerPull& pull : parts.pulls) {
    if (pull.server != ps) continue;
    for (int resource : pull.resources) metadata.add_pulled(name_of(resource));
  }
  return {ps, std::make_shared<proto::RegisterServerProto>(std::move(metadata)), std::move(constants)};
}

// What the worker runs, and what it exchanges in between.
void write_stages(const PartitionedGraph& parts, proto::RegisterWorkerProto& to, ConstantTable& constants) {
  for (const WorkerStage& stage : parts.stages) {
    proto::StageProto& out = *to.add_stages();
    out.set_graph(serialize(stage.graph, constants));
    out.mutable_inputs()->Add(stage.inputs.begin(), stage.inputs.end());
    out.mutable_outputs()->Add(stage.outputs.begin(), stage.outputs.end());
  }
  for (const auto& round : parts.rounds) {
    proto::RoundProto& exchanges = *to.add_rounds();
    for (const ServerExchange& exchange : round) {
      proto::ExchangeProto& out = *exchanges.add_exchanges();
      out.set_ps(exchange.server);
      out.mutable_sent()->Add(exchange.sent.begin(), exchange.sent.end());
      out.mutable_returned()->Add(exchange.returned.begin(), exchange.returned.end());
      out.mutable_fresh()->Add(exchange.fresh.begin(), exchange.fresh.end());
    }
  }
  for (const ServerPull& pull : parts.pulls) {
    proto::PullProto& out = *to.add_ps_pulls();
    out.set_ps(pull.server);
    out.mutable_inputs()->Add(pull.resources.begin(), pull.resources.end());
  }
  to.set_slots(parts.slots);
  to.mutable_outputs()->Add(parts.outputs.begin(), parts.outputs.end());
}

// `replicated`: workers read it and so keep a replica.
void write_resource(const VariableBody& body, const Home& home, bool replicated, proto::InputProto& to) {
  write_spec(body.value_spec(), *to.mutable_spec());
  if (const auto* remote = dynamic_cast<const RemoteVariable*>(&body)) {
    to.set_kind(replicated ? proto::InputProto::REPLICA : proto::InputProto::UNUSED);
    to.set_ps(home.server);
    to.set_name(remote->remote_name());
  } else {
    to.set_kind(proto::InputProto::ACCUMULATOR);
    to.set_name(body.name());
  }
}

void write_input(const PlacedInput& input, const Home& home, bool replicated, proto::InputProto& to) {
  switch (input.kind) {
    case PlacedInput::Kind::Argument:
      return to.set_kind(proto::InputProto::ARGUMENT);
    case PlacedInput::Kind::Iterator:
      return to.set_kind(proto::InputProto::UNUSED);
    case PlacedInput::Kind::Element:
      to.set_kind(proto::InputProto::ELEMENT);
      to.set_pull(input.pull);
      to.set_leaf(input.leaf);
      return;
    case PlacedInput::Kind::Collective:
      return to.set_kind(proto::InputProto::COLLECTIVE);
    case PlacedInput::Kind::LossShare:
      return to.set_kind(proto::InputProto::LOSS_SHARE);
    case PlacedInput::Kind::Resource:
      return write_resource(dynamic_cast<const VariableBody&>(*input.resource.resource()), home, replicated, to);
  }
}

PlacedFunction::WorkerPart make_worker_part(const PartitionedGraph& parts, const FunctionDescription& description,
                                            const std::vector<Home>& homes,
                                            const std::vector<std::string>& ps_addresses) {
  proto::RegisterWorkerProto metadata;
  ConstantTable constants;
  write_stages(parts, metadata, constants);
  for (std::size_t i = 0; i < description.inputs.size(); ++i) {
    const bool replicated =
        std::find(parts.replicated.begin(), parts.replicated.end(), static_cast<int>(i)) != parts.replicated.end();
    write_input(description.inputs[i], homes[i], replicated, *metadata.add_inputs());
  }
  metadata.mutable_pulls()->Add(description.pulls.begin(), description.pulls.end());
  metadata.set_replicas(description.replicas);
  metadata.set_joins_outputs(description.joins_outputs);
  for (std::size_t i = 0; i < ps_addresses.size(); ++i) {
    proto::TaskProto& task = *metadata.add_ps();
    task.set_index(static_cast<std::int64_t>(i));
    task.set_address(ps_addresses[i]);
  }
  return {std::make_shared<proto::RegisterWorkerProto>(std::move(metadata)), std::move(constants)};
}

}  // namespace

PlacedInput PlacedInput::of_capture(const Tensor& capture) {
  if (is_worker_collective(*capture.resource())) return {.kind = Kind::Collective};
  if (is_worker_loss_share(*capture.resource())) return {.kind = Kind::LossShare};
  return {.kind = Kind::Resource, .resource = capture};
}

bool FunctionDescription::is_of_replicas() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const PlacedInput& input) {
    return input.kind == PlacedInput::Kind::Collective || input.kind == PlacedInput::Kind::LossShare;
  });
}

PlacedFunction::PlacedFunction(std::uint64_t handle, const FunctionDescription& description,
                               const std::vector<std::string>& ps_addresses)
    : handle_(handle), pulls_(description.pulls) {
  std::vector<Home> homes;
  for (const PlacedInput& input : description.inputs) {
    homes.push_back(home_of(input));
    if (input.kind != PlacedInput::Kind::Resource) continue;
    const auto body = std::dynamic_pointer_cast<VariableBody>(input.resource.resource());
    if (!dynamic_cast<const RemoteVariable*>(body.get())) accumulators_.push_back(Variable(body));
  }
  warn_of_certain_workers(*description.graph);
  const int num_ps = static_cast<int>(ps_addresses.size());
  const PartitionedGraph parts = partition(*description.graph, homes, num_ps);
  if (description.replicas > 1) check_same_on_replicas(parts, description);
  num_outputs_ = static_cast<int>(parts.outputs.size());
  for (int ps = 0; ps < num_ps; ++ps) {
    PsPart part = make_ps_part(ps, parts, description.inputs);
    if (part.metadata->parts_size() > 0 || part.metadata->pulled_size() > 0) ps_parts_.push_back(std::move(part));
  }
  worker_part_ = make_worker_part(parts, description, homes, ps_addresses);
}

int PlacedFunction::pulls_of(int iterator) const {
  return static_cast<int>(std::count(pulls_.begin(), pulls_.end(), iterator));
}

}  // namespace cohort::distribute
