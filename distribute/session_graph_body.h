#pragma once

#include <map>
#include <memory>
#include <string>

#include "cohort/core/device_spec.h"
#include "cohort/core/dispatch.h"
#include "cohort/distribute/session_graph.h"
#include "cohort/graph/tracer.h"
#include "cohort/variables/initial_value.h"
#include "cohort/variables/variable_body.h"
#include "cohort/variables/variable_creator.h"

namespace cohort::distribute {

// A variable of a session's graph: it has a value only where sessions run. Used at once it is an error.
class SessionVariable : public VariableBody, private ResourceOwner {
 public:
  SessionVariable(const void* graph, std::string container, DeviceSpec device, InitialValue initial,
                  const VariableOptions& options)
      : VariableBody(initial.spec(), options),
        graph(graph),
        container(std::move(container)),
        device(std::move(device)),
        initial(std::move(initial)) {}
  ResourceOwner* owner() override { return this; }

  const void* const graph;
  const std::string container;
  const DeviceSpec device;
  const InitialValue initial;

 private:
  Tensors run(const OpDef& op, const Tensors& inputs, const Attributes& attributes, const RandomState& random) override;
};

// What the handles of one graph share.
struct SessionGraph::Body : VariableCreator {
  std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) override;
  // The variable that a captured resource is; throws for any other one.
  const SessionVariable& variable_of(const Tensor& capture) const;

  Tracer tracer;
  Variables variables;
  std::map<const VariableBody*, int> initial_assignments;  // nodes
};

}  // namespace cohort::distribute
