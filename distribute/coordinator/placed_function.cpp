#include "cohort/distribute/coordinator/placed_function.h"

#include <algorithm>

#include "cohort/distribute/coordinator/remote_variable.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {
namespace {

// A variable of the chief's own may only be added to: what each closure adds is summed when its result is accepted.
bool accumulates(const VariableBody& variable) {
  return variable.options().synchronization == Synchronization::OnRead &&
         variable.options().aggregation == Aggregation::Sum;
}

Home home_of(const PlacedInput& input) {
  if (input.kind != PlacedInput::Kind::Resource) return {};
  if (const auto* remote = dynamic_cast<const RemoteVariable*>(input.resource.resource().get())) {
    if (remote->server() == RemoteVariable::kEveryServer) return {Home::Kind::EveryServer, 0};
    return {Home::Kind::Server, remote->server()};
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

}  // namespace

PlacedFunction::PlacedFunction(Cluster& cluster, const Graph& graph, const std::vector<PlacedInput>& inputs,
                               std::vector<int> pulls)
    : handle_(cluster.next_number()), pulls_(std::move(pulls)) {
  std::vector<Home> homes;
  for (const PlacedInput& input : inputs) homes.push_back(home_of(input));
  parts_ = partition(graph, homes, cluster.num_servers());
  register_on_servers(cluster, inputs);
  describe_for_workers(cluster, inputs, homes);
}

int PlacedFunction::pulls_of(int iterator) const {
  return static_cast<int>(std::count(pulls_.begin(), pulls_.end(), iterator));
}

void PlacedFunction::register_on_servers(Cluster& cluster, const std::vector<PlacedInput>& inputs) {
  const auto name_of = [&](int input) -> const std::string& {
    const Tensor& resource = inputs[static_cast<std::size_t>(input)].resource;
    return dynamic_cast<const RemoteVariable&>(*resource.resource()).remote_name();
  };
  for (int server = 0; server < cluster.num_servers(); ++server) {
    proto::RegisterServerProto meta;
    ConstantTable constants;
    for (std::size_t round = 0; round < parts_.rounds.size(); ++round) {
      for (const ServerExchange& exchange : parts_.rounds[round]) {
        if (exchange.server != server) continue;
        proto::ServerPartProto& part = *meta.add_parts();
        part.set_round(static_cast<std::uint32_t>(round));
        part.set_graph(serialize(exchange.graph, constants));
        for (int resource : exchange.resources) part.add_resources(name_of(resource));
        part.set_writes(exchange.writes);
      }
    }
    for (const ServerPull& pull : parts_.pulls) {
      if (pull.server != server) continue;
      meta.set_pull(serialize(pull.graph, constants));
      for (int resource : pull.resources) meta.add_pulled(name_of(resource));
    }
    if (meta.parts_size() == 0 && meta.pull().empty()) continue;
    cluster.call<Method::RegisterServer>(server, {.function = handle_}, meta, constants);
  }
}

void PlacedFunction::describe_for_workers(const Cluster& cluster, const std::vector<PlacedInput>& inputs,
                                          const std::vector<Home>& homes) {
  proto::RegisterWorkerProto meta;
  for (const WorkerStage& stage : parts_.stages) {
    proto::StageProto& to = *meta.add_stages();
    to.set_graph(serialize(stage.graph, worker_constants_));
    to.mutable_inputs()->Add(stage.inputs.begin(), stage.inputs.end());
    to.mutable_outputs()->Add(stage.outputs.begin(), stage.outputs.end());
  }
  for (const auto& round : parts_.rounds) {
    proto::RoundProto& to = *meta.add_rounds();
    for (const ServerExchange& exchange : round) {
      proto::ExchangeProto& out = *to.add_exchanges();
      out.set_server(exchange.server);
      out.mutable_sent()->Add(exchange.sent.begin(), exchange.sent.end());
      out.mutable_returned()->Add(exchange.returned.begin(), exchange.returned.end());
      out.mutable_fresh()->Add(exchange.fresh.begin(), exchange.fresh.end());
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const PlacedInput& input = inputs[i];
    proto::InputProto& to = *meta.add_inputs();
    switch (input.kind) {
      case PlacedInput::Kind::Argument:
        to.set_kind(proto::InputProto::ARGUMENT);
        break;
      case PlacedInput::Kind::Iterator:
        to.set_kind(proto::InputProto::UNUSED);
        break;
      case PlacedInput::Kind::Element:
        to.set_kind(proto::InputProto::ELEMENT);
        to.set_pull(input.pull);
        to.set_leaf(input.leaf);
        break;
      case PlacedInput::Kind::Resource: {
        const auto body = std::dynamic_pointer_cast<VariableBody>(input.resource.resource());
        write_spec(body->value_spec(), *to.mutable_spec());
        if (const auto* remote = dynamic_cast<const RemoteVariable*>(body.get())) {
          const bool read = std::find(parts_.replicated.begin(), parts_.replicated.end(), static_cast<int>(i)) !=
                            parts_.replicated.end();
          to.set_kind(read ? proto::InputProto::REPLICA : proto::InputProto::UNUSED);
          to.set_server(homes[i].server);
          to.set_name(remote->remote_name());
        } else {
          to.set_kind(proto::InputProto::ACCUMULATOR);
          to.set_name(body->name());
          accumulators_.push_back(Variable(body));
        }
      }
    }
  }
  meta.set_slots(parts_.slots);
  meta.mutable_outputs()->Add(parts_.outputs.begin(), parts_.outputs.end());
  meta.mutable_pulls()->Add(pulls_.begin(), pulls_.end());
  for (int server = 0; server < cluster.num_servers(); ++server) {
    proto::TaskProto& task = *meta.add_servers();
    task.set_index(server);
    task.set_address(cluster.server(server).address);
  }
  for (const ServerPull& pull : parts_.pulls) {
    proto::PullProto& to = *meta.add_server_pulls();
    to.set_server(pull.server);
    to.mutable_inputs()->Add(pull.resources.begin(), pull.resources.end());
  }
  worker_part_ = meta.SerializeAsString();
}

void PlacedFunction::register_on(rpc::RepeatingStream& stream, std::uint64_t job, SentConstants& sent) const {
  proto::RegisterWorkerProto meta;
  meta.ParseFromString(worker_part_);
  Tensors parts;
  sent.attach(worker_constants_, *meta.mutable_constants(), parts);
  call<Method::RegisterWorker>(stream, {.job = job, .function = handle_}, meta, std::move(parts));
}

}  // namespace cohort::distribute
