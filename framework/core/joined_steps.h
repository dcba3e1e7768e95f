#pragma once

#include <string>
#include <vector>

#include "cohort/core/op.h"

namespace cohort {

// Calls of small ops, one after the other, as one op: what its inputs and attributes say. Values are numbered: the
// op's inputs, then the outputs of all steps in order, which are the op's outputs.
//
// Attributes are the names of the ops ("ops"), how many values each takes ("arity"), which these are ("args"), what
// the steps are called ("names"), and those of the steps, each by its number and name ("2/transpose_a"). Only this type
// knows.
class JoinedSteps {
 public:
  // One of the calls.
  struct Step {
    // The op and its attributes.
    const OpDef* op = nullptr;
    Attributes attributes;
    // The node it was, for errors.
    std::string name;
    // The values it takes.
    std::vector<int> inputs;
    // Types and shapes of the values it takes and makes.
    Specs input_specs, output_specs;
    // The number of its first output among the op's outputs.
    int first_output = 0;

    // The call, which is valid as long as the step.
    OpCall call() const { return OpCall(*op, attributes, input_specs); }
  };

  // Reads what a call's attributes say; throws InvalidArgument when that cannot be.
  explicit JoinedSteps(const OpCall& call);
  // Writes down steps; of each the op, its attributes, its name and what it takes are looked at.
  static Attributes attributes(const std::vector<Step>& steps);

  // The calls.
  const std::vector<Step>& steps() const { return steps_; }
  // Types and shapes of all outputs.
  const Specs& outputs() const { return outputs_; }
  // The claims of all steps on the op's inputs.
  VariableClaims claims() const;

 private:
  std::vector<Step> steps_;
  Specs outputs_;
  int inputs_;
};

}  // namespace cohort
