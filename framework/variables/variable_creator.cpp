#include "cohort/variables/variable_creator.h"

#include <utility>

namespace cohort {
namespace {

thread_local VariableCreator* innermost = nullptr;

}  // namespace

VariableCreatorScope::VariableCreatorScope(VariableCreator* creator) : before_(std::exchange(innermost, creator)) {}
VariableCreatorScope::~VariableCreatorScope() { innermost = before_; }

VariableCreator* current_variable_creator() { return innermost; }

}  // namespace cohort
