#include "cohort/variables/constraint.h"

namespace cohort {

Registry<Constraint>& Constraint::registry() {
  static auto* registry = new Registry<Constraint>("constraint");
  return *registry;
}

}  // namespace cohort
