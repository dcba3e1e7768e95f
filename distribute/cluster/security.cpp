#include "cohort/distribute/cluster/security.h"

#include <fstream>
#include <iterator>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/certificates.h"
#include "cohort/distribute/cluster/environment.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kShortestSecret = 32, kLargestFile = std::size_t{1} << 20;

SecurityOptions of_environment() {
  const std::string insecure = environment_variable("COHORT_INSECURE");
  if (!insecure.empty() && insecure != "0" && insecure != "1") {
    throw invalid_argument("COHORT_INSECURE", "1 or nothing is expected", {{"COHORT_INSECURE", insecure}});
  }
  return {.ca_certificate = environment_variable("COHORT_CA_CERTIFICATE"),
          .certificate = environment_variable("COHORT_CERTIFICATE"),
          .private_key = environment_variable("COHORT_PRIVATE_KEY"),
          .secret_file = environment_variable("COHORT_SECRET_FILE"),
          .insecure = insecure == "1"};
}

bool has_certificates(const SecurityOptions& options) {
  return !options.ca_certificate.empty() || !options.certificate.empty() || !options.private_key.empty();
}

int kinds_of(const SecurityOptions& options) {
  return (has_certificates(options) ? 1 : 0) + (options.secret_file.empty() ? 0 : 1) + (options.insecure ? 1 : 0);
}

std::string content_of(const std::string& path, std::string_view what, std::string_view who) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kLargestFile + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if ((!file && !file.eof()) || bytes.empty() || bytes.size() > kLargestFile) {
    throw invalid_argument(who, "a file that can be read is expected for " + std::string(what), {{"file", path}});
  }
  return bytes;
}

Security of_certificates(const SecurityOptions& options, std::string_view task) {
  if (options.ca_certificate.empty() || options.certificate.empty() || options.private_key.empty()) {
    throw invalid_argument(task, "the authority's certificate, this task's and its key are expected together",
                           {{"ca_certificate", options.ca_certificate},
                            {"certificate", options.certificate},
                            {"private_key", options.private_key}},
                           "`cohort certs make` makes all three.");
  }
  const std::string authority = content_of(options.ca_certificate, "the authority's certificate", task);
  const std::string certificate = content_of(options.certificate, "the certificate", task);
  const std::string key = content_of(options.private_key, "the private key", task);
  Security security{.kind = Security::Kind::Certificates, .files = options};
  security.own = identity_of_certificate({certificate, key}, authority, task);
  // A process without a name of its own (a client that asks for figures) is whom its certificate says.
  if (const auto told = identity_of_task(security.own.cluster, task); told && *told != security.own) {
    throw invalid_argument(task, "the certificate of this very task is expected",
                           {{"certificate", options.certificate}, {"made for", security.own.uri()}});
  }
  return security;
}

Security of_secret(const SecurityOptions& options, std::string_view task) {
  Security security{.kind = Security::Kind::Secret,
                    .secret = content_of(options.secret_file, "the cluster's secret", task)};
  while (security.secret.ends_with('\n') || security.secret.ends_with('\r')) security.secret.pop_back();
  if (security.secret.size() < kShortestSecret) {
    throw invalid_argument(task, "a secret of 32 bytes or more is expected",
                           {{"secret_file", options.secret_file}, {"bytes", security.secret.size()}},
                           "Make one: head -c 32 /dev/urandom | base64 > FILE.");
  }
  security.own = identity_of_task("", task).value_or(TaskIdentity{.cluster = "", .job = "client"});
  return security;
}

}  // namespace

std::shared_ptr<const Security> make_security(const SecurityOptions& given, std::string_view task) {
  const SecurityOptions options = kinds_of(given) > 0 ? given : of_environment();
  switch (kinds_of(options)) {
    case 0:
      return nullptr;
    case 1:
      if (options.insecure) return std::make_shared<Security>();
      return std::make_shared<Security>(options.secret_file.empty() ? of_certificates(options, task)
                                                                    : of_secret(options, task));
    default:
      throw invalid_argument(
          task, "certificates, a secret or insecure are expected, one of the three",
          {{"certificate", options.certificate}, {"secret_file", options.secret_file}, {"insecure", options.insecure}});
  }
}

void check_may_use(std::string_view address, const Security* security, std::string_view who, std::string_view what) {
  if (security || parse_address(address, who).is_loopback()) return;
  throw invalid_argument(who, std::string(what) + " beyond this machine only with security", {{"address", address}},
                         "Give certificates (`cohort certs make`) or a secret; or say insecure, in a network where "
                         "everybody may do everything.");
}

}  // namespace cohort::distribute
