#include "cohort/distribute/coordinator/remote_variable.h"

#include "cohort/distribute/protocol/message_flags.h"

namespace cohort::distribute {

RemoteVariable::RemoteVariable(std::shared_ptr<RemoteOwner> owner, std::string name, int ps, const TensorSpec& spec,
                               const VariableOptions& options)
    : VariableBody(spec, options), owner_(std::move(owner)), remote_name_(std::move(name)), ps_(ps) {
  owner_->connections().releases()->variable_named(remote_name_);
}

RemoteVariable::~RemoteVariable() { owner_->connections().releases()->variable_unnamed(remote_name_, ps_); }

Tensors RemoteOwner::run(const OpDef& op, const Tensors& inputs, const Attributes& attributes,
                         const RandomState& random) {
  Graph graph;
  proto::RunGraphProto meta;
  Tensors parts;
  std::vector<Value> values;
  int ps = RemoteVariable::kEveryPs;
  for (const Tensor& input : inputs) {
    values.push_back(graph.add(find_op("Input"), {}, {{"dtype", input.dtype()}, {"shape", input.shape()}}));
    graph.inputs.push_back(values.back().node);
    if (input.dtype() != DType::Resource) {
      meta.add_inputs("");
      parts.push_back(input.to_host());
      continue;
    }
    const auto* variable = dynamic_cast<const RemoteVariable*>(input.resource().get());
    if (!variable ||
        (variable->ps() != RemoteVariable::kEveryPs && ps != RemoteVariable::kEveryPs && variable->ps() != ps)) {
      throw invalid_argument(op.name(), "variables of one task are expected", {{"variable", input.resource()->name()}},
                             "Read one of them first, or put them on the same device.");
    }
    if (variable->ps() != RemoteVariable::kEveryPs) ps = variable->ps();
    meta.add_inputs(variable->remote_name());
  }
  const int node = graph.add(op, values, attributes).node;
  const std::size_t outputs = graph.nodes[static_cast<std::size_t>(node)].outputs.size();
  for (std::size_t i = 0; i < outputs; ++i) graph.outputs.push_back({node, static_cast<int>(i)});

  ConstantTable constants;
  meta.set_graph(serialize(graph, constants));
  meta.set_writes(op.writes_resources());
  meta.set_seed(random.seed);
  Head head;
  if (op.writes_resources()) head.flags = kWrites;
  // Copies of one variable change together; any of them may be read.
  if (ps == RemoteVariable::kEveryPs && !op.writes_resources()) ps = 0;
  Tensors results = connections_->call<Method::RunGraph>(ps, head, meta, constants, parts).parts;
  if (results.size() != outputs) {
    throw Error(ErrorCode::DataLoss, op.name(), "a reply must bring the op's outputs",
                {{"parts", results.size()}, {"outputs", outputs}});
  }
  return results;
}

}  // namespace cohort::distribute
