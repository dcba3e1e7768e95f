#include "cohort/distribute/protocol/lease.h"

#include "cohort/data/iterator_state.h"
#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

void write_lease(const Lease& lease, proto::LeaseProto& to) {
  to.set_dataset(lease.dataset);
  to.set_pipeline(lease.pipeline);
  to.set_rewinds(lease.rewinds);
  to.set_first(lease.first);
  to.set_state_at(lease.state_at);
  to.set_state(lease.state);
}

Lease read_lease(const proto::LeaseProto& from) {
  return {.dataset = from.dataset(),
          .pipeline = from.pipeline(),
          .rewinds = from.rewinds(),
          .first = from.first(),
          .state_at = from.state_at(),
          .state = from.state()};
}

void write_lease(const Lease& lease, StateWriter& to) {
  to.number(lease.rewinds);
  to.number(lease.first);
  to.number(lease.state_at);
  to.bytes(lease.state);
}

// Fields in the order they were written: the initializers of a braced list are evaluated in theirs.
Lease read_lease(StateReader& from) {
  return {
      .rewinds = from.number(), .first = from.number(), .state_at = from.number(), .state = std::string(from.bytes())};
}

}  // namespace cohort::distribute
