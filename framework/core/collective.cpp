#include "cohort/core/collective.h"

#include "cohort/core/error.h"

namespace cohort {

void Collective::check_host(const void* stream) {
  if (stream) throw unimplemented("Collective", "values that replicas reduce beside other work lie on the host");
}

}  // namespace cohort
