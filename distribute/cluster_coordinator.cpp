#include "cohort/distribute/cluster_coordinator.h"

#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "cohort/distribute/coordinator/pending_sums.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"
#include "cohort/distribute/coordinator/schedule.h"
#include "cohort/graph/hoist_iterators.h"

namespace cohort::distribute {
namespace {

constexpr const char* kClusterCoordinator = "ClusterCoordinator";

// What stands for an argument while a function is traced, and how many tensors an element of it has (0: a tensor).
struct Argument {
  Tensor example;
  std::size_t leaves = 0;
};

// A traced function as the cluster runs it: what it takes from iterators becomes inputs of its own, the iterators stay
// as inputs that nothing is bound to.
// Where it asks for replicas, all devices of a worker run it.
FunctionDescription describe(const TracedGraph& traced, const std::vector<Argument>& arguments, int replicas) {
  Graph graph = *traced.graph;
  const std::vector<int> taken_from = hoist_iterators(graph, traced.num_arguments);
  std::vector<PlacedInput> inputs;
  std::vector<int> iterator_number;
  int iterators = 0;
  for (const Argument& argument : arguments) {
    const bool iterator = argument.leaves > 0;
    inputs.push_back({.kind = iterator ? PlacedInput::Kind::Iterator : PlacedInput::Kind::Argument});
    iterator_number.push_back(iterator ? iterators++ : -1);
  }
  for (const Node& node : graph.nodes) {
    for (const Value& input : node.inputs) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].leaves > 0 && input.node == graph.inputs[i]) {
          throw unimplemented(kClusterCoordinator, "a scheduled function takes elements outside of branches and loops",
                              {{"node", node.name}}, "Take the element first, then branch.");
        }
      }
    }
  }
  for (const Tensor& capture : traced.captures) {
    inputs.push_back(PlacedInput::of_capture(capture));
  }
  std::vector<int> pulls;
  for (std::size_t pull = 0; pull < taken_from.size(); ++pull) {
    const auto argument = static_cast<std::size_t>(taken_from[pull]);
    pulls.push_back(iterator_number[argument]);
    for (std::size_t leaf = 0; leaf < arguments[argument].leaves; ++leaf) {
      inputs.push_back(
          {.kind = PlacedInput::Kind::Element, .pull = static_cast<int>(pull), .leaf = static_cast<int>(leaf)});
    }
  }
  FunctionDescription function{std::make_shared<Graph>(std::move(graph)), std::move(inputs), std::move(pulls)};
  if (function.is_of_replicas()) function.replicas = replicas;
  return function;
}

}  // namespace

class ClusterCoordinator::Body {
 public:
  explicit Body(std::shared_ptr<ClusterRuntime> runtime) : runtime(std::move(runtime)) {}

  PerWorkerDataset make_dataset(std::vector<Dataset> pipelines) const {
    auto dataset = std::make_shared<PerWorkerDataset::Body>();
    dataset->dataset = runtime->add_dataset(pipelines);
    dataset->pipelines = std::move(pipelines);
    return PerWorkerDataset(std::move(dataset));
  }

  const std::shared_ptr<ClusterRuntime> runtime;
  const std::shared_ptr<PendingSums> sums = std::make_shared<PendingSums>();
};

ClusterCoordinator::ClusterCoordinator(const ParameterServerStrategy& strategy)
    : body_(std::make_unique<Body>(strategy.runtime())) {}
ClusterCoordinator::~ClusterCoordinator() = default;

RemoteValue ClusterCoordinator::schedule(const Function& function, const std::vector<ScheduleArgument>& given) {
  Closure closure;
  const int replicas = body_->runtime->replicas_per_worker();
  std::vector<Argument> arguments;
  Tensors examples;
  for (const ScheduleArgument& argument : given) {
    if (const auto* values = std::get_if<PerWorkerValues>(&argument)) {
      if (!values->defined())
        throw invalid_argument(kClusterCoordinator, "the iterator of a per-worker dataset is expected");
      const PerWorkerDataset::Body& dataset = *values->body().dataset;
      const ElementSpec& given_spec = dataset.pipelines[0].element_spec();
      const ElementSpec spec = replicas > 1 ? with_unknown_batch(given_spec) : given_spec;
      // An iterator of such elements that gives none: the function is only traced with it.
      arguments.push_back({Iterator(nullptr, spec).handle(), spec.flatten().size()});
      closure.datasets.push_back(dataset.dataset->number());
      closure.uses.push_back(dataset.dataset);
    } else {
      arguments.push_back({std::get<Tensor>(argument)});
      closure.arguments.push_back(std::get<Tensor>(argument));
    }
    examples.push_back(arguments.back().example);
  }
  const TracedGraph traced = function.concrete(examples);
  closure.function = body_->runtime->place(traced.graph, [&] { return describe(traced, arguments, replicas); });
  closure.random = {.seed = global_seed(), .step = next_op_seed()};
  closure.versions = body_->runtime->connections()->versions();
  closure.done = [sums = body_->sums, placed = closure.function](ClosureResult& result) {
    sums->collect(placed->accumulators(), result.accumulated);
  };
  RemoteValue value = distribute::schedule(body_->runtime->queue(), std::move(closure));
  body_->sums->apply();
  return value;
}

void ClusterCoordinator::join() {
  body_->runtime->queue().wait();
  body_->sums->apply();
}

bool ClusterCoordinator::done() {
  const bool done = body_->runtime->queue().done();
  body_->sums->apply();
  return done;
}

PerWorkerDataset ClusterCoordinator::create_per_worker_dataset(
    const std::function<Dataset(const InputContext&)>& dataset_fn) {
  const ClusterRuntime& runtime = *body_->runtime;
  return body_->make_dataset(make_pipelines(
      DatasetCreator(dataset_fn), runtime.pipeline_names(runtime.input_pipelines()), runtime.replicas_per_worker()));
}

PerWorkerDataset ClusterCoordinator::create_per_worker_dataset(const std::function<Dataset()>& dataset_fn) {
  const DatasetCreator creator([dataset_fn](const InputContext&) { return dataset_fn(); });
  return body_->make_dataset({creator(InputContext{})});
}

PerWorkerDataset ClusterCoordinator::create_per_worker_dataset(const Dataset& dataset) {
  if (!dataset.defined()) throw invalid_argument(kClusterCoordinator, "a dataset that was made is expected");
  return body_->make_dataset({dataset});
}

}  // namespace cohort::distribute
