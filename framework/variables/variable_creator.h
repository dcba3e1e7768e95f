#pragma once

#include <memory>

#include "cohort/core/thread_scope.h"
#include "cohort/variables/initial_value.h"
#include "cohort/variables/variable_options.h"

namespace cohort {

// Decides where new variables live: a strategy's creator puts them on other tasks or cuts them into parts.
class VariableCreator {
 public:
  virtual ~VariableCreator() = default;
  // The body of a new variable; nullptr to have it made here, as without a creator. Called outside every trace.
  virtual std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) = 0;
};

// Variables this thread makes while the scope lives come from the creator (nullptr: are made here). Nested.
using VariableCreatorScope = ThreadScope<VariableCreator, VariableCreator*>;

// The innermost scope's creator; nullptr for none.
VariableCreator* current_variable_creator();

}  // namespace cohort
