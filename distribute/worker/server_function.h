#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cohort/distribute/worker/constant_store.h"
#include "cohort/distribute/worker/stored_variable.h"
#include "cohort/graph/executable.h"

namespace cohort::distribute {

// Variables whose values travel to workers. Used under a Reservation of `reserved()`.
class SentVariables {
 public:
  explicit SentVariables(StoredVariables variables = {});
  std::span<Reservable* const> reserved() const { return reserved_; }
  // Appends the values of those written after `version`, which share their memory unless they are small; what is
  // undefined, or missing at the end, is no newer.
  void append_newer(std::uint64_t version, Tensors& parts) const;

 private:
  StoredVariables variables_;
  std::vector<Reservable*> reserved_;
};

// One round of a function on a ps: a graph with its variables bound. Used under a Reservation of `reserved()`.
class ServerPart : private Reservable {
 public:
  // The graph takes tensors first, then these variables; `fresh` are sent after it has run.
  ServerPart(std::shared_ptr<const Graph> graph, StoredVariables variables, StoredVariables fresh);

  std::span<Reservable* const> reserved() const { return reserved_; }
  bool writes() const { return !written_.empty(); }
  // So few numbers that to run it takes no longer than to wake a thread up.
  bool is_small() const { return is_small_; }
  // Runs the graph on what was sent: when it throws, no variable has changed.
  void apply(const Tensors& sent, Tensors& returned);
  // The same without its writes: answers a bundle that was applied before.
  void repeat(const Tensors& sent, Tensors& returned);
  // All that it writes to is of this version now.
  void mark_written(std::uint64_t version);
  const SentVariables& fresh() const { return fresh_; }

 private:
  // What was sent, as inputs of the graph for as long as it lives.
  struct Bound {
    Bound(ServerPart& part, const Tensors& sent);
    ~Bound();
    ServerPart& part;
  };
  void run(ExecutableCache& executables, Tensors& results);
  void check_rows();
  void apply_or_restore(Tensors& returned);

  const std::size_t num_sent_;
  Tensors inputs_;  // what was sent, then the variables
  std::unique_ptr<ExecutableCache> apply_, repeat_;
  std::unique_ptr<ExecutableCache> rows_;  // numbers of the rows that it adds to, if any
  std::vector<std::int64_t> row_counts_;
  StoredVariables variables_;
  std::vector<StoredVariable*> written_;
  bool may_fail_half_way_ = false, is_small_ = false;
  SentVariables fresh_;
  std::vector<Reservable*> reserved_;
};

// A function's parts on a ps.
struct ServerFunction {
  HeldConstants constants;
  std::vector<std::unique_ptr<ServerPart>> rounds;  // null where it has nothing to do
  SentVariables pulled;
};

}  // namespace cohort::distribute
