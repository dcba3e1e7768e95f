#pragma once

#include <sys/types.h>

#include <string>

namespace cohort::distribute::rpc::test {

// A second process of this test binary that serves Echo requests, to be stopped and killed in earnest.
class PeerProcess {
 public:
  PeerProcess();
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  const std::string& address() const { return address_; }
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  int input_ = -1;  // the process ends when this is closed, also when this one dies
  std::string address_;
};

}  // namespace cohort::distribute::rpc::test
