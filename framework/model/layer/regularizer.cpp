#include "cohort/model/layer/regularizer.h"

namespace cohort {

Registry<Regularizer>& Regularizer::registry() {
  static auto* registry = new Registry<Regularizer>("regularizer");
  return *registry;
}

}  // namespace cohort
