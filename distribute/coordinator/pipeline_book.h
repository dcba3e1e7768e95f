#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/coordinator/closure.h"

namespace cohort::distribute {

// Elements that one step of a closure takes from the dataset at `index` of closure.datasets.
using PullsPerStep = std::function<std::int64_t(const Closure& closure, std::size_t index)>;

// Which elements of which pipeline have been lent to whom: hands out leases, and remembers positions to continue from.
// Thread-safe.
class PipelineBook {
 public:
  PipelineBook(int workers, PullsPerStep pulls);

  // A dataset with one pipeline for each entry: its number of elements in a pass, or kInfiniteCardinality or
  // kUnknownCardinality. Returns its number, for Closure::datasets, which no other will have.
  int add(const std::vector<std::int64_t>& cardinalities);
  // Once no closure names it.
  void remove(int dataset) noexcept;

  // For a closure that goes to `worker`: gives it leases unless it has them, and saved positions where the worker does
  // not stand at them. A worker has its own pipeline where there are several, and another's once that is used up.
  // Throws OutOfRange when no pipeline has elements for a step.
  void lease(Closure& closure, int worker);
  // For a closure whose elements must be the next ones, whichever worker is first to take one: the lease of the next
  // elements of a dataset's only pipeline.
  Lease reserve(int dataset, std::int64_t elements);
  // Takes note of a result. True when the closure ran no step because its pipeline had ended, which nobody knew: its
  // leases are gone and it may be leased again.
  bool returned(Closure& closure, int worker, const ClosureResult& result);
  // Where workers come and go: the numbers of those that are there now, which divide the pipelines among themselves.
  void set_present(std::vector<int> workers);
  // The worker has been restarted and has no position.
  void forget(int worker);

  // The next pass of a dataset begins, in all its pipelines, with the leases given from now on.
  void rewind(int dataset);
  // Where each pipeline of a dataset goes on; at a quiet point that is after the last element anyone took.
  std::vector<Lease> position(int dataset) const;
  void resume(int dataset, const std::vector<Lease>& position);

 private:
  struct Saved {
    std::uint64_t at;
    std::string state;
  };
  struct Lent {
    std::uint64_t closure;
    std::uint64_t first;
  };
  struct PipelineRecord {
    std::int64_t cardinality;
    std::int64_t end;  // cardinality, or where the end was met; negative while there is none
    std::uint64_t next = 0;
    std::vector<Saved> saved = {};  // positions grow
    std::vector<Lent> lent = {};    // to closures that may have to run again
    std::vector<std::int64_t> stands_at =
        {};  // of each worker once what it has been given is done; -1 or not there: unknown

    std::int64_t& standing(int worker);
    std::int64_t standing_of(int worker) const;
    std::uint64_t left() const;
    void remember(std::uint64_t at, const std::string& state);
  };
  struct DatasetRecord {
    std::uint64_t rewinds = 0;
    std::vector<PipelineRecord> pipelines;
  };

  std::vector<std::int64_t> pulls_of(const Closure& closure) const;
  DatasetRecord& record(int number);
  const DatasetRecord& record(int number) const;
  int choose(int number, int worker, std::uint64_t pulls) const;
  void grant(Closure& closure, int worker, const std::vector<std::int64_t>& pulls);
  void attach_state(Lease& lease, int worker, std::uint64_t wanted) const;
  // The lease that ran out, -1 when it cannot be told.
  int ran_out(const Closure& closure, const ClosureResult& result, const std::vector<std::int64_t>& pulls) const;

  // A worker's number among those that share the pipelines, and how many they are.
  std::pair<std::size_t, std::size_t> rank_of(int worker) const;

  const int workers_;
  const PullsPerStep pulls_;
  mutable std::mutex mutex_;
  std::map<int, DatasetRecord> datasets_;
  std::vector<int> present_;  // grow; empty: all there were at the start
  int next_ = 0;
};

}  // namespace cohort::distribute
