#include "tests/support/elsewhere.h"

#include "cohort/graph/executable.h"
#include "cohort/graph/graph.h"
#include "cohort/graph/graph_file.h"
#include "cohort/model/fit/local_runner.h"
#include "cohort/variables/shards.h"

namespace cohort::test {
namespace {

class FarVariable : public VariableBody {
 public:
  FarVariable(Variable there, ResourceOwner& owner, VariableOptions options)
      : VariableBody({there.dtype(), there.shape()}, std::move(options)), there_(std::move(there)), owner_(&owner) {}
  ResourceOwner* owner() override { return owner_; }
  const Variable& there() const { return there_; }

 private:
  Variable there_;
  ResourceOwner* owner_;
};

// What a task that received the graph would compute.
Tensor computed_by_graph(const InitialValue& initial) {
  const auto graph = parse_graph_with_constants(serialize_with_constants(initial.graph()));
  Tensors outputs(1);
  compile(*graph, {}, default_device())->run({}, outputs, {});
  return outputs[0];
}

}  // namespace

std::shared_ptr<VariableBody> Elsewhere::create(const InitialValue& initial, const VariableOptions& options) {
  if (options.synchronization == Synchronization::OnRead) return nullptr;
  made.push_back({options.path, options.colocate_with ? options.colocate_with->path() : ""});
  VariableCreatorScope here(nullptr);
  return std::make_shared<FarVariable>(Variable(computed_by_graph(initial), options), *this, options);
}

Tensors Elsewhere::run(const OpDef& op, const Tensors& inputs, const Attributes& attributes,
                       const RandomState& random) {
  ++ops_run;
  Tensors here = inputs;
  for (Tensor& input : here) {
    if (input.dtype() == DType::Resource) input = dynamic_cast<FarVariable&>(*input.resource()).there().handle();
  }
  return run_eagerly(op, here, attributes, random);
}

std::shared_ptr<VariableBody> Sharding::create(const InitialValue& initial, const VariableOptions& options) {
  VariableCreatorScope below(below_);
  const Shape& shape = initial.spec().shape;
  if (options.synchronization == Synchronization::OnRead || options.colocate_with || shape.rank() == 0 ||
      shape[0] < 2) {
    return Variable(initial, options).body();
  }
  Variables shards;
  for (const RowRange& rows : split_rows(shape[0], shards_)) {
    const auto index = static_cast<std::int64_t>(shards.size());
    shards.push_back(Variable(initial.rows(rows.first, rows.count), shard_options(options, index)));
  }
  return join_shards(std::move(shards), options);
}

std::unique_ptr<StepRunner> CreatorStrategy::make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                                         const RunnerOptions& options) {
  return std::make_unique<LocalRunner>(std::move(program), data, options);
}

}  // namespace cohort::test
