#include "cohort/datasets/transforms/traced_function.h"

#include <algorithm>

#include "cohort/graph/resource_use.h"
#include "cohort/graph/trace.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"

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

bool writes_to(const Graph& graph, int resource) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const std::vector<ResourceUse> uses = resource_uses(graph, node);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const ResourceUse& use) { return use.resource == resource && use.writes; });
  });
}

// The variable that a function has captured; throws for one that is trained and for all else.
Variable captured_variable(const char* who, const Tensor& capture) {
  const auto body = std::dynamic_pointer_cast<VariableBody>(capture.resource());
  if (!body || capture.is_symbolic()) {
    throw invalid_argument(who, "the function may use neither iterators nor tensors of another trace",
                           {{"captured", capture.spec()}}, "Pass values as tensors.");
  }
  const std::shared_ptr<VariableBody> whole = body->whole();
  if (body->options().trainable) {
    throw invalid_argument(who, "the function may use no variables that are trained: their values are read once",
                           {{"variable", whole ? whole->path() : body->path()}},
                           "Do this in the model instead, or set trainable to false.");
  }
  return Variable(body);
}

// The graph of the function alone: variables have become constants, so that it can be sent and run anywhere.
std::shared_ptr<const Graph> without_captures(const char* who, const TracedGraph& traced) {
  if (traced.captures.empty()) return traced.graph;
  Tensors values(static_cast<std::size_t>(traced.num_arguments));
  for (const Tensor& capture : traced.captures) {
    const Variable variable = captured_variable(who, capture);
    if (writes_to(*traced.graph, traced.graph->inputs[values.size()])) {
      throw invalid_argument(who, "the function may not write to variables", {{"variable", variable.path()}},
                             "Do this in the model instead, or use scan for what goes from element to element.");
    }
    values.push_back(read_now(variable));
  }
  return std::make_shared<Graph>(with_values(*traced.graph, values));
}

}  // namespace

Attributes trace_function(const char* who, const ElementSpec& element, const ElementFunction& f) {
  std::string structure;
  const TracedGraph traced = trace(element.flatten(), [&](const Tensors& leaves) {
    const Element result = f(element.with_leaves(leaves), who);
    structure = structure_of(result);
    return result.flatten();
  });
  return {{"graph", without_captures(who, traced)},
          {"structure", structure},
          {"seed", static_cast<std::int64_t>(global_seed())}};
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
