#include "cohort/model/layer/activation.h"

namespace cohort {

Registry<Activation>& Activation::registry() {
  static auto* registry = new Registry<Activation>("activation");
  return *registry;
}

}  // namespace cohort
