#pragma once

#include <cstdint>
#include <exception>
#include <mutex>

namespace cohort::datasets {

// Of several elements that fail on several threads, the error of the first: which one does not depend on timing.
class FirstError {
 public:
  // Notes the exception that is being handled.
  //   place: where the element stands among the others.
  void note(std::int64_t place) {
    std::lock_guard lock(mutex_);
    if (error_ && place >= place_) return;
    place_ = place;
    error_ = std::current_exception();
  }
  // Throws it, if there is one; only when the threads are done.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::int64_t place_ = 0;
  std::exception_ptr error_;
};

}  // namespace cohort::datasets
