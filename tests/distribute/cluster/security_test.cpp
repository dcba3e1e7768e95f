#include "cohort/distribute/cluster/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cohort/core/error.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::ClusterCertificates;
using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(TaskIdentity, IsReadAsItIsWritten) {
  const TaskIdentity worker{"training", "worker", 12};
  EXPECT_EQ(worker.uri(), "cohort://training/worker/12");
  EXPECT_EQ(parse_identity(worker.uri()), worker);
  EXPECT_EQ(identity_of_task("training", "worker:12"), worker);
}

TEST(TaskIdentity, IsNothingElse) {
  for (const char* uri : {"", "cohort://", "cohort://a/b", "cohort://a/b/c", "cohort://a/b/-1", "cohort://a/b/01",
                          "cohort://a/b/1/2", "cohort:///b/1", "cohort://a//1", "spiffe://a/b/1", "cohort://a/b/1 ",
                          "cohort://a b/c/1", "cohort://a/b/99999999999999999999"}) {
    EXPECT_EQ(parse_identity(uri), std::nullopt) << uri;
  }
  for (const char* task : {"", "worker", "worker:", ":1", "worker:x", "worker:-1", "wor/ker:1", "worker:+1"}) {
    EXPECT_EQ(identity_of_task("a", task), std::nullopt) << task;
  }
}

TEST(Security, IsNoneWhereNothingIsSaid) {
  EXPECT_EQ(make_security({}, "worker:0"), nullptr);
  EXPECT_EQ(make_security({.insecure = true}, "worker:0")->kind, Security::Kind::Insecure);
}

TEST(Security, IsTakenFromTheEnvironmentWhereOptionsSayNothing) {
  const ClusterCertificates certificates;
  ::setenv("COHORT_SECRET_FILE", certificates.write("secret", std::string(40, 's') + "\n").c_str(), 1);
  const auto told = make_security({}, "ps:1");
  const auto other = make_security({.insecure = true}, "ps:1");
  ::unsetenv("COHORT_SECRET_FILE");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->kind, Security::Kind::Secret);
  EXPECT_EQ(told->secret, std::string(40, 's'));
  EXPECT_EQ(told->own, (TaskIdentity{"", "ps", 1}));
  EXPECT_EQ(other->kind, Security::Kind::Insecure);
}

TEST(Security, OfCertificatesIsWhoTheySay) {
  const ClusterCertificates certificates;
  const auto worker = certificates.of("worker:3");
  EXPECT_EQ(worker->kind, Security::Kind::Certificates);
  EXPECT_EQ(worker->own, (TaskIdentity{"training", "worker", 3}));
  EXPECT_EQ(make_security(certificates.options_of("chief:0"), "cohort status")->own.job, "chief");
}

TEST(Security, RefusesWhatDoesNotBelongTogether) {
  const ClusterCertificates certificates, others;
  const SecurityOptions good = certificates.options_of("worker:3");
  SecurityOptions wrong = good;
  wrong.ca_certificate = others.options_of("worker:3").ca_certificate;
  EXPECT_THAT(error_of([&] { make_security(wrong, "worker:3"); }), HasSubstr("that the authority has signed"));
  wrong = good;
  wrong.private_key = certificates.options_of("worker:4").private_key;
  EXPECT_THAT(error_of([&] { make_security(wrong, "worker:3"); }), HasSubstr("not another one"));
  wrong = good;
  wrong.private_key = wrong.certificate;
  EXPECT_THAT(error_of([&] { make_security(wrong, "worker:3"); }), HasSubstr("a private key"));
  wrong.private_key = "";
  EXPECT_THAT(error_of([&] { make_security(wrong, "worker:3"); }), HasSubstr("together"));
  wrong.private_key = "nowhere.key";
  EXPECT_THAT(error_of([&] { make_security(wrong, "worker:3"); }), HasSubstr("nowhere.key"));
  EXPECT_THAT(error_of([&] { make_security(good, "worker:4"); }), HasSubstr("cohort://training/worker/3"));
  EXPECT_THAT(error_of([&] { make_security(certificates.options_of("ps:0", -1), "ps:0"); }), HasSubstr("expired"));
}

TEST(Security, RefusesShortSecretsAndTwoKindsAtOnce) {
  const ClusterCertificates certificates;
  const std::string small = certificates.write("small", std::string(31, 's') + "\n");
  EXPECT_THAT(error_of([&] { make_security({.secret_file = small}, "worker:0"); }),
              AllOf(HasSubstr("32 bytes"), HasSubstr("bytes=31")));
  EXPECT_THAT(error_of([&] { make_security({.secret_file = small, .insecure = true}, "worker:0"); }),
              HasSubstr("one of the three"));
}

TEST(Security, IsAskedForBeyondThisMachine) {
  const Security insecure;
  for (const char* address : {"127.0.0.1:1", "localhost:2", "[::1]:3", "127.9.9.9:4"}) {
    EXPECT_NO_THROW(check_may_use(address, nullptr, "worker:0", "a server listens")) << address;
  }
  for (const char* address : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "host.example:1", "localhost.example:1"}) {
    EXPECT_NO_THROW(check_may_use(address, &insecure, "worker:0", "a server listens")) << address;
    EXPECT_THAT(error_of([&] { check_may_use(address, nullptr, "worker:0", "a server listens"); }),
                AllOf(HasSubstr("worker:0"), HasSubstr(address), HasSubstr("insecure")))
        << address;
  }
}

}  // namespace
}  // namespace cohort::distribute
