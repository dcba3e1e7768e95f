#include "cohort/variables/variable_creator.h"

namespace cohort {

VariableCreator* current_variable_creator() { return VariableCreatorScope::current(); }

}  // namespace cohort
