#include "cohort/core/collective.h"

#include "cohort/core/error.h"

namespace cohort {

void Collective::gather(std::span<const Part>, int, const void* const*, void* const*) {
  throw unimplemented("Collective", "these replicas do not gather values", {{"replica", name()}});
}

void Collective::check_host(const void* stream) {
  if (stream) throw unimplemented("Collective", "values that replicas reduce beside other work lie on the host");
}

}  // namespace cohort
