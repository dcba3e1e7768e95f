#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/rpc/shared_secret.h"

namespace grpc {
class ServerContextBase;
}

namespace cohort::distribute::rpc {

// Knows which connections of a server have proven who calls: by certificate at their beginning, or by the secret on
// their first call, the heartbeat. Thread-safe.
class Doorkeeper {
 public:
  //   security: nullptr: everybody may come in.
  //   fingerprint: of the server's certificate, where a secret is to be proven.
  Doorkeeper(const Security* security, std::string fingerprint);
  ~Doorkeeper();
  Doorkeeper(Doorkeeper&&) noexcept;

  // Whether a call may come in.
  //   caller: set where it has been proven who that is.
  bool admits(const grpc::ServerContextBase& context, std::optional<TaskIdentity>& caller);
  // What a new connection proves the secret to; none where it need not.
  std::optional<ServerProof> begin_proof() const;
  // The connection has proven who calls: its calls may come in between these two.
  void add(const std::string& connection, const TaskIdentity& caller);
  void remove(const std::string& connection);

 private:
  struct Proven {
    std::mutex mutex;
    std::map<std::string, TaskIdentity> callers;  // by connection
  };
  std::optional<Security> security_;
  std::string fingerprint_;
  std::unique_ptr<Proven> proven_ = std::make_unique<Proven>();
};

}  // namespace cohort::distribute::rpc
