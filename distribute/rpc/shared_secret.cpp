#include "cohort/distribute/rpc/shared_secret.h"

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/certificates.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::size_t kBytes = 32, kLongestName = 200;

// Fields of fixed length come first, so that no two lists of fields are the same text.
std::string code(const std::string& secret, std::string_view role, std::string_view number,
                 std::string_view fingerprint, std::string_view greeting) {
  std::string text("cohort.v1 ");
  text.append(role).append(number).append(fingerprint).append(greeting);
  return hmac_sha256(secret, text);
}

constexpr std::string_view kServerRole = "server", kCallerRole = "caller";

Error not_proven(const char* what) {
  return Error(ErrorCode::PermissionDenied, "security",
               std::string(what) + " that knows the cluster's secret is expected", {},
               "Give all tasks the same secret_file.");
}

}  // namespace

CallerProof::CallerProof(std::string secret, const TaskIdentity& own)
    : secret_(std::move(secret)), greeting_(random_bytes(kBytes) + own.job + ":" + std::to_string(own.index)) {}

std::string CallerProof::answer(std::string_view challenge, std::string_view fingerprint) const {
  if (challenge.size() != 2 * kBytes || fingerprint.size() != kBytes) throw not_proven("a server");
  const std::string_view number = challenge.substr(0, kBytes);
  if (!equal_in_constant_time(challenge.substr(kBytes), code(secret_, kServerRole, number, fingerprint, greeting_))) {
    throw not_proven("a server");
  }
  return code(secret_, kCallerRole, number, fingerprint, greeting_);
}

ServerProof::ServerProof(std::string secret, std::string fingerprint)
    : secret_(std::move(secret)), fingerprint_(std::move(fingerprint)) {}

std::string ServerProof::challenge(std::string_view greeting) {
  if (greeting.size() <= kBytes || greeting.size() > kBytes + kLongestName) throw not_proven("a caller");
  greeting_ = greeting;
  number_ = random_bytes(kBytes);
  return number_ + code(secret_, kServerRole, number_, fingerprint_, greeting_);
}

TaskIdentity ServerProof::check(std::string_view answer) const {
  if (number_.empty() ||
      !equal_in_constant_time(answer, code(secret_, kCallerRole, number_, fingerprint_, greeting_))) {
    throw not_proven("a caller");
  }
  const auto identity = identity_of_task("", std::string_view(greeting_).substr(kBytes));
  if (!identity) throw not_proven("a task");
  return *identity;
}

}  // namespace cohort::distribute::rpc
