#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/rpc/transport.h"

namespace grpc {
class ServerContextBase;
}

namespace cohort::distribute::rpc {

// The certificate that the other side of a channel has shown last. Thread-safe.
class SeenCertificate {
 public:
  void set(std::string fingerprint);
  // Empty before there was one.
  std::string fingerprint() const;

 private:
  mutable std::mutex mutex_;
  std::string fingerprint_;
};

// What a channel proves with and asks of the task it leads to.
struct CallerCredentials {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::shared_ptr<SeenCertificate> seen;  // where a secret is to be proven
};
//   security: nullptr: nothing is proven.
CallerCredentials caller_credentials(const Security* security, const Peer& peer);

// Likewise for a server.
struct ServerCredentials {
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::string fingerprint = {};  // of its certificate, where a secret is to be proven
};
ServerCredentials server_credentials(const Security* security);

// Whom the certificate of a caller is made for; none where it has shown none.
std::optional<TaskIdentity> certified_caller(const grpc::ServerContextBase& context);

}  // namespace cohort::distribute::rpc
