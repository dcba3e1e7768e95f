#include "cohort/datasets/transforms/traced_function.h"

#include <algorithm>

#include "cohort/graph/trace.h"

namespace cohort::datasets {
namespace {

std::shared_ptr<const Graph> graph_for(const char* who, const ElementSpec& element, const Attributes& attributes) {
  auto graph = attributes.get<std::shared_ptr<const Graph>>("graph");
  if (!graph) throw invalid_argument(who, "the graph of the function is expected", {{"graph", "none"}});
  const Specs wanted = graph->input_specs(), given = element.flatten();
  bool fits = wanted.size() == given.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    fits = wanted[i].dtype == given[i].dtype && wanted[i].shape.compatible(given[i].shape);
  }
  if (!fits) {
    throw invalid_argument(who, "a function of the input's elements is expected",
                           {{"element", to_string(element)}, {"arguments", wanted.size()}});
  }
  return graph;
}

// What the cache of executables holds: more would be compiled again and again.
constexpr std::size_t kMostShapes = 16;

Specs output_specs(const Graph& graph) {
  Specs specs;
  for (const Value& output : graph.outputs) specs.push_back(graph.spec(output));
  return specs;
}

}  // namespace

Attributes trace_function(const char* who, const ElementSpec& element, const ElementFunction& f) {
  std::string structure;
  const TracedGraph traced = trace(element.flatten(), [&](const Tensors& leaves) {
    const Element result = f(element.with_leaves(leaves), who);
    structure = structure_of(result);
    return result.flatten();
  });
  if (!traced.captures.empty()) {
    throw invalid_argument(who, "the function may use neither variables nor iterators",
                           {{"captures", traced.captures.size()}},
                           "Pass values as tensors, or do this in the model instead.");
  }
  return {{"graph", traced.graph}, {"structure", structure}, {"seed", static_cast<std::int64_t>(global_seed())}};
}

TracedFunction::TracedFunction(const char* who, const ElementSpec& element, const Attributes& attributes)
    : seed_(static_cast<std::uint64_t>(attributes.get<std::int64_t>("seed", 0))),
      executables_(graph_for(who, element, attributes)) {
  const Specs outputs = output_specs(*executables_.graph());
  outputs_ = outputs.size();
  const Specs inputs = executables_.graph()->input_specs();
  has_fixed_shapes_ =
      std::all_of(inputs.begin(), inputs.end(), [](const TensorSpec& spec) { return spec.shape.fully_known(); });
  spec_ = parse_structure(attributes.get<std::string>("structure"), outputs);
}

void TracedFunction::run(const Tensors& arguments, Tensors& results, const ElementKey& key) {
  results.resize(outputs_);
  ready_for(arguments)->run(arguments, results, random_at(key));
}

std::shared_ptr<Executable> TracedFunction::ready_for(const Tensors& arguments) {
  if (has_fixed_shapes_ || is_compiled_for(arguments)) return executables_.specialize(arguments, cpu());
  return of_others_;
}

bool TracedFunction::is_compiled_for(const Tensors& arguments) {
  const auto is_like = [](const Tensor& leaf, const TensorSpec& spec) { return leaf.spec() == spec; };
  std::lock_guard lock(mutex_);
  for (const Specs& shapes : shapes_) {
    if (std::equal(arguments.begin(), arguments.end(), shapes.begin(), shapes.end(), is_like)) return true;
  }
  if (shapes_.size() == kMostShapes) {
    const Graph& graph = *executables_.graph();
    if (!of_others_) of_others_ = compile_op_by_op(graph, graph.input_specs(), cpu());
    return false;
  }
  Specs& shapes = shapes_.emplace_back();
  for (const Tensor& argument : arguments) shapes.push_back(argument.spec());
  return true;
}

PredicateStage::PredicateStage(const char* who, const std::vector<Dataset>& inputs, const Attributes& attributes)
    : TransformStage(who, inputs),
      predicate_(std::make_shared<TracedFunction>(who, input().element_spec(), attributes)) {
  const ElementSpec& spec = predicate_->result_spec();
  if (!spec.is_leaf() || spec.leaf() != TensorSpec{DType::Bool, {}}) {
    throw invalid_argument(who, "a function that gives one bool without axes is expected",
                           {{"result", to_string(spec)}},
                           "Compare values, and reduce tensors with ops::all or ops::any.");
  }
}

void PredicateIterator::rewind() {
  ++epoch_;
  pulled_ = 0;
  input_->rewind();
}

void PredicateIterator::save_to(StateWriter& state) const {
  state.number(epoch_);
  state.number(pulled_);
  input_->save_to(state);
}

void PredicateIterator::restore_from(StateReader& state) {
  epoch_ = state.number();
  pulled_ = state.number();
  input_->restore_from(state);
}

PredicateIterator::Tested PredicateIterator::pull(Tensors& element) {
  // Before it is read: one that throws has its number, too.
  const std::uint64_t number = pulled_++;
  if (!input_->next(element)) {
    pulled_ = number;
    return Tested::Ended;
  }
  predicate_->run(element, answer_, input_->key().value_or(ElementKey{epoch_, number}));
  return *static_cast<const bool*>(answer_[0].raw()) ? Tested::Holds : Tested::Fails;
}

DatasetTransform make_traced_transform(const char* who, std::string kind, ElementFunction f) {
  return [who, kind = std::move(kind), f = std::move(f)](const Dataset& input) {
    return Dataset::make(kind, {input}, trace_function(who, input.element_spec(), f));
  };
}

}  // namespace cohort::datasets
