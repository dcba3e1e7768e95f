#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "cohort/distribute/coordinator/collected_errors.h"

namespace cohort::distribute {

// Closures whose errors and cancels are nobody else's, such as those of one call of fit. Guarded by the queue they are
// put into.
class ClosureGroup {
 private:
  friend class ClosureQueue;
  bool open() const { return queued_ > 0 || under_way_ > 0; }
  bool idle() const { return !open() && calls_ == 0; }

  bool known_ = false;  // to the queue
  std::size_t queued_ = 0, under_way_ = 0;
  int joining_ = 0;          // in wait()
  int calls_ = 0;            // calls back for dropped closures, and of the interrupt
  bool cancelling_ = false;  // until nothing runs and, after an error, somebody has come for it
  CollectedErrors errors_;
  std::uint64_t failures_ = 0;  // errors thrown so far, so that everyone who waits meanwhile gets it
  std::exception_ptr last_failure_;
};

}  // namespace cohort::distribute
