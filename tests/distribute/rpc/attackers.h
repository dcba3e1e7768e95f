#pragma once

#include <memory>
#include <string>

#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::distribute::rpc::test {

// A connection by hand: says what it likes.
class RawCaller {
 public:
  explicit RawCaller(const std::string& address);
  ~RawCaller();
  RawCaller(RawCaller&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawCaller& operator=(RawCaller&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  bool connected() const { return socket_ >= 0; }
  void say(const std::string& bytes) const;
  // What is answered until the other side closes, or until that time is over; `closed` says which.
  std::string hear(std::chrono::milliseconds longest, bool& closed) const;

 private:
  int socket_ = -1;
};

// What a caller's TLS begins with, whole; of HTTP/2 in plain text; and frames after that which promise far too much.
std::string client_hello();
std::string http2_preface();
std::string lying_frames();

// A second process of this test binary, at the lowest priority, whose threads attack an address without pause and
// without being anybody: connections that say nothing, half a hello, or a hello and nothing more, `connections` of them
// at a time; random bytes, other protocols, and frames that lie.
class Attackers {
 public:
  Attackers(const std::string& address, int connections);
  // How many connections that stay have been opened so far, about.
  int opened() const;

 private:
  const cohort::test::TemporaryFolder folder_;
  cohort::test::StartedProgram program_;
};

// A plain gRPC server in a process of its own, as its documentation builds one.
class PlainGrpcProcess {
 public:
  PlainGrpcProcess();
  std::string address() const;

 private:
  const cohort::test::TemporaryFolder folder_;
  cohort::test::StartedProgram program_;
};

}  // namespace cohort::distribute::rpc::test
