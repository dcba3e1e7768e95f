#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/core/tensor.h"
#include "cohort/distribute/protocol/lease.h"

namespace cohort::distribute {

class ClosureGroup;
class PlacedFunction;

// What a worker gives back for a closure.
struct ClosureResult {
  std::int64_t steps = 0;    // that were run
  bool data_ended = false;   // a lease held fewer elements than the steps wanted
  Tensors accumulated = {};  // what the function added to the chief's accumulating variables, in the function's order
  Tensors outputs = {};      // the function's outputs, step after step
  // Positions after the last element taken, one per lease, empty where unknown.
  std::vector<std::string> states = {};
};

// Some steps of a function, for whichever worker is free.
struct Closure {
  std::uint64_t id = 0;  // given by the queue; grows; the same in every attempt at the same data
  std::shared_ptr<const PlacedFunction> function;
  std::shared_ptr<ClosureGroup> group = {};            // none: that of all which have none
  Tensors arguments = {};                              // the function's plain arguments
  std::vector<int> datasets = {};                      // the PerWorkerDataset of each iterator argument
  std::vector<std::shared_ptr<const void>> uses = {};  // what must stay until it has ended: those datasets
  std::int64_t steps = 1;
  bool may_end = false;                      // no data left is a result of 0 steps, else an OutOfRange error
  RandomState random = {};                   // of its first step
  std::vector<Lease> leases = {};            // one per entry of `datasets`; given when it first goes to a worker
  std::vector<std::uint64_t> versions = {};  // of each server's variables that the steps must see at least
  int attempts = 0;                          // workers that were lost while it was the oldest they had
  // Of the queue when a worker took it.
  std::uint64_t interrupts = 0, cancels = 0, all_done_below = 0;
  // Called once, by a thread of the coordinator, perhaps while another closure's are called: exactly one of the two.
  // They must not call the coordinator. What `done` throws is an error of the closure.
  std::function<void(ClosureResult&)> done = {};
  std::function<void(std::exception_ptr)> failed = {};
};

}  // namespace cohort::distribute
