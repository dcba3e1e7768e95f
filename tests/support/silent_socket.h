#pragma once

#include <string>

namespace cohort::test {

// A loopback port that takes connections and never says a word.
class SilentSocket {
 public:
  SilentSocket();
  ~SilentSocket();
  SilentSocket(const SilentSocket&) = delete;
  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

}  // namespace cohort::test
