#pragma once

#include <string>
#include <string_view>

#include "cohort/distribute/cluster/task_identity.h"

namespace cohort::distribute::rpc {

// How two sides of a connection prove to each other that they know a secret, without telling it: each draws a number,
// and sends a code over both numbers, the role it takes, who the caller is and the fingerprint of the certificate that
// encrypts this connection. So a code is of no use on another connection, in the other direction or for another caller.
// The caller's side of it, for one connection.
class CallerProof {
 public:
  CallerProof(std::string secret, const TaskIdentity& own);
  // What the caller sends first.
  const std::string& greeting() const { return greeting_; }
  // What it sends next. Throws PermissionDenied unless the server's answer proves that it knows the secret.
  //   fingerprint: of the certificate that the server has shown.
  std::string answer(std::string_view challenge, std::string_view fingerprint) const;

 private:
  const std::string secret_, greeting_;
};

// The server's side of it, for one connection.
class ServerProof {
 public:
  //   fingerprint: of the certificate that the server shows.
  ServerProof(std::string secret, std::string fingerprint);
  // What the server sends to a caller's greeting. Throws PermissionDenied where that is none.
  std::string challenge(std::string_view greeting);
  // Who the caller is. Throws PermissionDenied unless the answer proves that it knows the secret.
  TaskIdentity check(std::string_view answer) const;

 private:
  std::string secret_, fingerprint_, greeting_, number_;
};

}  // namespace cohort::distribute::rpc
