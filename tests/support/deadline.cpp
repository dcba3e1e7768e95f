#include "tests/support/deadline.h"

#include <cstdio>
#include <cstdlib>

namespace cohort::test {

Deadline::Deadline(std::chrono::seconds longest) {
  watch_ = std::thread([this, longest] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, longest, [this] { return over_; })) return;
    std::fprintf(stderr, "the test has not ended after %lld s\n", static_cast<long long>(longest.count()));
    std::abort();
  });
}

Deadline::~Deadline() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  watch_.join();
}

}  // namespace cohort::test
