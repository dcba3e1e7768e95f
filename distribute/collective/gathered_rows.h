#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/distribute/collective/communicator.h"

namespace cohort::distribute {

// Rows of tables that the replicas of a process, and those of other workers, have brought. For one thread.
class GatheredRows {
 public:
  //   workers: nullptr: there are none.
  explicit GatheredRows(collective::Communicator* workers) : workers_(workers) {}

  // Gathers what was brought here, which may be nothing, and by other workers, all of which call it.
  //   types: of all of them.   most: what pays. False, on all workers, where there may be more.
  bool gather(const Collective::Rows& types, std::span<const Collective::Rows> brought, std::int64_t most);
  // In the order of the workers and their replicas; valid until the next call, as long as what was brought is there.
  std::span<const Collective::Rows> all() const { return all_; }

 private:
  bool gather_over_workers(const Collective::Rows& types, std::int64_t here, std::int64_t most);

  collective::Communicator* const workers_;
  std::vector<Collective::Rows> all_;
  std::vector<std::int64_t> counts_;         // by worker
  std::vector<std::byte> values_, indices_;  // as many rows of each worker, though it may have fewer
};

}  // namespace cohort::distribute
