#include "cohort/distribute/session_graph.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/session_graph_body.h"
#include "cohort/graph/resource_use.h"

namespace cohort::distribute {

Tensors SessionVariable::run(const OpDef& op, const Tensors&, const Attributes&, const RandomState&) {
  throw failed_precondition("Variable '" + name() + "'", "a variable of a session's graph is used by Session::run",
                            {{"op", op.name()}}, "Put what uses it into the graph, and run that.");
}

std::shared_ptr<VariableBody> SessionGraph::Body::create(const InitialValue& initial, const VariableOptions& given) {
  VariableOptions options = given;
  options.name = tracer.unique_name(given.name);
  const auto* beside = dynamic_cast<const SessionVariable*>(given.colocate_with.get());
  const DeviceSpec device =
      beside
          ? beside->device
          : device_for(
                {.op = "Variable", .name = options.name, .dtype = initial.spec().dtype, .shape = initial.spec().shape});
  auto variable = std::make_shared<SessionVariable>(this, ContainerScope::current(), device, initial, options);
  variables.emplace_back(variable);
  return variable;
}

const SessionVariable& SessionGraph::Body::variable_of(const Tensor& capture) const {
  const auto* variable = dynamic_cast<const SessionVariable*>(capture.resource().get());
  if (variable && variable->graph == this) return *variable;
  throw failed_precondition("SessionGraph", "variables that were made in the graph are expected",
                            {{"used", capture.resource() ? capture.resource()->name() : capture.spec().to_string()}},
                            "Make them while a scope of as_default() lives.");
}

// Scopes of one thread, in the order in which they begin.
class SessionGraph::Scope::Body {
 public:
  explicit Body(std::shared_ptr<SessionGraph::Body> graph)
      : graph_(std::move(graph)), tracing_(graph_->tracer), variables_(graph_.get()) {}

 private:
  const std::shared_ptr<SessionGraph::Body> graph_;
  const Tracer::Scope tracing_;
  const VariableCreatorScope variables_;
};

SessionGraph::Scope::Scope(std::unique_ptr<Body> body) : body_(std::move(body)) {}
SessionGraph::Scope::~Scope() = default;

SessionGraph::SessionGraph() : body_(std::make_shared<Body>()) {}

SessionGraph::Scope SessionGraph::as_default() const { return Scope(std::make_unique<Scope::Body>(body_)); }

Tensor SessionGraph::placeholder(DType dtype, const Shape& shape, const std::string& name) const {
  return body_->tracer.add_argument({dtype, shape}, name);
}

Tensor SessionGraph::constant(const Tensor& value) const { return body_->tracer.add_constant(value); }

Tensor SessionGraph::constant(double value, DType dtype) const {
  return constant(Tensor::full({}, value, dtype, cpu()));
}

Operation SessionGraph::operation(const std::function<void()>& body) const {
  const Scope scope = as_default();
  const Graph& graph = body_->tracer.graph();
  Operation made;
  made.graph_ = body_.get();
  const std::size_t first = graph.nodes.size();
  body();
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    bool has_effects = has_other_effects(graph.nodes[i]);
    for (const ResourceUse& use : resource_uses(graph, graph.nodes[i])) has_effects |= use.writes;
    if (has_effects) made.nodes_.push_back(static_cast<int>(i));
  }
  return made;
}

Operation SessionGraph::initializer() const {
  Operation all;
  all.graph_ = body_.get();
  for (Variable variable : body_->variables) {
    auto known = body_->initial_assignments.find(variable.body().get());
    if (known == body_->initial_assignments.end()) {
      const auto& own = dynamic_cast<const SessionVariable&>(*variable.body());
      const Operation assign = operation([&] {
        const DeviceScope there(own.device);
        variable.assign(inline_graph(own.initial.graph(), {})[0]);
      });
      known = body_->initial_assignments.emplace(&own, assign.nodes_.back()).first;
    }
    all.nodes_.push_back(known->second);
  }
  return all;
}

const Variables& SessionGraph::variables() const { return body_->variables; }
std::string SessionGraph::to_string() const { return body_->tracer.graph().to_string(); }

ContainerScope::ContainerScope(std::string name) : name_(std::move(name)) {}
std::string ContainerScope::current() { return ThreadScope<ContainerScope, std::string>::current(); }
ContainerScope container(std::string name) { return ContainerScope(std::move(name)); }

}  // namespace cohort::distribute
