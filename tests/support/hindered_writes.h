#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace cohort::test {

// While it lives no file of this process grows beyond that many bytes, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(unsigned long bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_before_)(int);
};

// While it lives this process has nobody's rights, so that a folder without write permission really is one.
class Unprivileged {
 public:
  Unprivileged();
  ~Unprivileged();
  Unprivileged(const Unprivileged&) = delete;

 private:
  uid_t before_;
};

}  // namespace cohort::test
