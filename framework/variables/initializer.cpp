#include "cohort/variables/initializer.h"

namespace cohort {

Registry<Initializer>& Initializer::registry() {
  static auto* registry = new Registry<Initializer>("initializer");
  return *registry;
}

}  // namespace cohort
