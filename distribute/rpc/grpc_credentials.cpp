#include "cohort/distribute/rpc/grpc_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server_context.h>

#include <map>

#include "cohort/distribute/cluster/certificates.h"

namespace cohort::distribute::rpc {
namespace {

namespace tls = grpc::experimental;

constexpr int kDays = 365 * 20;

// The files are read by a thread of gRPC, one for all connections of a task.
std::shared_ptr<tls::CertificateProviderInterface> provider_of(const Security& security) {
  constexpr unsigned kLookEverySecond = 1;
  using Files = std::tuple<std::string, std::string, std::string>;
  static std::mutex mutex;
  static std::map<Files, std::weak_ptr<tls::CertificateProviderInterface>> providers;
  const SecurityOptions& files = security.files;
  std::lock_guard lock(mutex);
  auto& known = providers[{files.private_key, files.certificate, files.ca_certificate}];
  auto provider = known.lock();
  if (!provider) {
    provider = std::make_shared<tls::FileWatcherCertificateProvider>(files.private_key, files.certificate,
                                                                     files.ca_certificate, kLookEverySecond);
    known = provider;
  }
  return provider;
}

// Base of what judges the other side's certificate, at once.
class Verifier : public tls::ExternalCertificateVerifier {
 public:
  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    try {
      const std::string refusal = judge(*request);
      if (!refusal.empty()) *status = {grpc::StatusCode::UNAUTHENTICATED, refusal};
    } catch (const std::exception& error) {
      *status = {grpc::StatusCode::UNAUTHENTICATED, error.what()};
    }
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 protected:
  // What speaks against the certificate; empty: nothing.
  virtual std::string judge(const tls::TlsCustomVerificationCheckRequest& request) const = 0;
};

// Whose certificate, signed by the cluster's authority, is the expected task's, or any one of the cluster.
class TaskVerifier : public Verifier {
 public:
  TaskVerifier(std::string cluster, std::optional<TaskIdentity> expected)
      : cluster_(std::move(cluster)), expected_(std::move(expected)) {}

 private:
  std::string judge(const tls::TlsCustomVerificationCheckRequest& request) const override {
    std::string names;
    for (const grpc::string_ref& uri : request.uri_names()) {
      const std::string name(uri.data(), uri.size());
      const auto identity = parse_identity(name);
      if (identity && identity->cluster == cluster_ && (!expected_ || *identity == *expected_)) return {};
      names += (names.empty() ? "" : ", ") + name;
    }
    return "the certificate is not that of " + (expected_ ? expected_->uri() : "a task of " + cluster_) + " but of " +
           (names.empty() ? "nobody" : names);
  }

  const std::string cluster_;
  const std::optional<TaskIdentity> expected_;
};

// Takes any certificate and notes it: the proof that follows is bound to it.
class NotingVerifier : public Verifier {
 public:
  explicit NotingVerifier(std::shared_ptr<SeenCertificate> seen) : seen_(std::move(seen)) {}

 private:
  std::string judge(const tls::TlsCustomVerificationCheckRequest& request) const override {
    const grpc::string_ref certificate = request.peer_cert();
    seen_->set(fingerprint_of({certificate.data(), certificate.size()}));
    return {};
  }

  const std::shared_ptr<SeenCertificate> seen_;
};

CallerCredentials with_certificates(const Security& security, const Peer& peer) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_of(security));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);  // tasks are known by what they are, not by where they run
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<TaskVerifier>(
      security.own.cluster, identity_of_task(security.own.cluster, peer.task)));
  return {tls::TlsCredentials(options), nullptr};
}

CallerCredentials with_secret() {
  auto seen = std::make_shared<SeenCertificate>();
  tls::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<NotingVerifier>(seen));
  return {tls::TlsCredentials(options), std::move(seen)};
}

}  // namespace

void SeenCertificate::set(std::string fingerprint) {
  std::lock_guard lock(mutex_);
  fingerprint_ = std::move(fingerprint);
}

std::string SeenCertificate::fingerprint() const {
  std::lock_guard lock(mutex_);
  return fingerprint_;
}

CallerCredentials caller_credentials(const Security* security, const Peer& peer) {
  if (!security || security->kind == Security::Kind::Insecure) return {grpc::InsecureChannelCredentials(), nullptr};
  return security->kind == Security::Kind::Certificates ? with_certificates(*security, peer) : with_secret();
}

ServerCredentials server_credentials(const Security* security) {
  if (!security || security->kind == Security::Kind::Insecure) return {grpc::InsecureServerCredentials()};
  if (security->kind == Security::Kind::Secret) {
    const KeyedCertificate own = make_own_certificate(kDays);
    tls::TlsServerCredentialsOptions options(std::make_shared<tls::StaticDataCertificateProvider>(
        std::vector<tls::IdentityKeyCertPair>{{.private_key = own.key, .certificate_chain = own.certificate}}));
    options.watch_identity_key_cert_pairs();
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    return {tls::TlsServerCredentials(options), fingerprint_of(own.certificate)};
  }
  tls::TlsServerCredentialsOptions options(provider_of(*security));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<TaskVerifier>(security->own.cluster, std::nullopt));
  return {tls::TlsServerCredentials(options)};
}

std::optional<TaskIdentity> certified_caller(const grpc::ServerContextBase& context) {
  for (const grpc::string_ref& uri : context.auth_context()->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    if (auto identity = parse_identity({uri.data(), uri.size()})) return identity;
  }
  return std::nullopt;
}

}  // namespace cohort::distribute::rpc
