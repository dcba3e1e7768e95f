#include "tests/support/hindered_writes.h"

#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace cohort::test {

FullDisk::FullDisk(unsigned long bytes) : handler_before_(std::signal(SIGXFSZ, SIG_IGN)) {
  getrlimit(RLIMIT_FSIZE, &before_);
  rlimit limit = before_;
  limit.rlim_cur = bytes;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("FullDisk: no limit can be set");
}

FullDisk::~FullDisk() {
  setrlimit(RLIMIT_FSIZE, &before_);
  std::signal(SIGXFSZ, handler_before_);
}

Unprivileged::Unprivileged() : before_(geteuid()) {
  constexpr uid_t kNobody = 65534;
  if (before_ == 0 && seteuid(kNobody) != 0) throw std::runtime_error("Unprivileged: rights cannot be given up");
}

Unprivileged::~Unprivileged() {
  if (before_ == 0 && seteuid(before_) != 0) std::terminate();
}

}  // namespace cohort::test
