#include "cohort/distribute/rpc/doorkeeper.h"

#include <grpcpp/server_context.h>

#include "cohort/distribute/rpc/grpc_credentials.h"

namespace cohort::distribute::rpc {

Doorkeeper::Doorkeeper(const Security* security, std::string fingerprint) : fingerprint_(std::move(fingerprint)) {
  if (security && security->kind != Security::Kind::Insecure) security_ = *security;
}
Doorkeeper::~Doorkeeper() = default;
Doorkeeper::Doorkeeper(Doorkeeper&&) noexcept = default;

bool Doorkeeper::admits(const grpc::ServerContextBase& context, std::optional<TaskIdentity>& caller) {
  if (!security_) return true;
  if (security_->kind == Security::Kind::Certificates) {
    caller = certified_caller(context);
  } else {
    std::lock_guard lock(proven_->mutex);
    const auto found = proven_->callers.find(context.peer());
    if (found != proven_->callers.end()) caller = found->second;
  }
  return caller.has_value();
}

std::optional<ServerProof> Doorkeeper::begin_proof() const {
  if (!security_ || security_->kind != Security::Kind::Secret) return std::nullopt;
  return ServerProof(security_->secret, fingerprint_);
}

void Doorkeeper::add(const std::string& connection, const TaskIdentity& caller) {
  std::lock_guard lock(proven_->mutex);
  proven_->callers[connection] = caller;
}

void Doorkeeper::remove(const std::string& connection) {
  std::lock_guard lock(proven_->mutex);
  proven_->callers.erase(connection);
}

}  // namespace cohort::distribute::rpc
