#pragma once

#include <cstdint>
#include <string>

namespace cohort {
class StateReader;
class StateWriter;
}  // namespace cohort
namespace cohort::proto {
class LeaseProto;
}

namespace cohort::distribute {

// A stretch of a pipeline's elements lent to one closure: the same in every attempt, so that whoever runs it gets the
// very same batches.
struct Lease {
  int dataset = 0;             // which PerWorkerDataset
  int pipeline = 0;            // of that dataset
  std::uint64_t rewinds = 0;   // passes over the data begun before this one
  std::uint64_t first = 0;     // number of its first element in this pass
  std::uint64_t state_at = 0;  // the element before which `state` was taken; meaningless without one
  std::string state = {};      // a saved position at or before `first`, where one is known
};

// As part of a message.
void write_lease(const Lease& lease, proto::LeaseProto& to);
Lease read_lease(const proto::LeaseProto& from);
// As part of a saved position, which knows by other means which dataset and pipeline it is about.
void write_lease(const Lease& lease, StateWriter& to);
Lease read_lease(StateReader& from);

}  // namespace cohort::distribute
