#include "cohort/variables/autocast.h"

namespace cohort {

std::optional<DType> current_autocast() { return AutocastScope::current(); }

}  // namespace cohort
