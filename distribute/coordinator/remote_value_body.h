#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

#include "cohort/distribute/coordinator/remote_value.h"

namespace cohort::distribute {

// Where a result arrives, once.
class RemoteValue::Body {
 public:
  void set(Results value);
  // Cancelled means aborted; any other error is the function's own.
  void fail(std::exception_ptr error);
  RemoteValueStatus status() const;
  Results wait() const;

 private:
  void settle(RemoteValueStatus status, Results value, std::exception_ptr error);

  mutable std::mutex mutex_;
  mutable std::condition_variable settled_;
  RemoteValueStatus status_ = RemoteValueStatus::NotReady;
  Results value_;
  std::exception_ptr error_;
};

}  // namespace cohort::distribute
