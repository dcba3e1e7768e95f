// Who may speak to a server, and to whom a caller speaks, by certificates and by a secret.
#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "cohort/distribute/cluster/certificates.h"
#include "cohort/distribute/rpc/grpc_credentials.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/shared_secret.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/handmade_stream.h"
#include "tests/distribute/rpc/handmade_task.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc {
namespace {

using cohort::test::ClusterCertificates;
using cohort::test::error_of;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Tells callers by their jobs: a worker may not say hello.
class RoleService : public rpc::test::EchoService {
 public:
  void check_caller(const TaskIdentity& caller, const Message& request) const override {
    if (caller.job == "worker" && request.head.method == Method::Hello) {
      throw Error(ErrorCode::PermissionDenied, "ps:0", "a chief is expected", {{"caller", caller.job}});
    }
  }
};

std::shared_ptr<const Security> secret(const std::string& text, const std::string& task) {
  return std::make_shared<Security>(
      Security{.kind = Security::Kind::Secret, .secret = text, .own = *identity_of_task("", task)});
}

std::string call_over(const char* transport, const Listener& listener, const std::shared_ptr<const Security>& security,
                      Method method = Method::Echo, const std::string& task = "ps:0") {
  return error_of([&] {
    const auto connection =
        connect({task, listener.address()},
                {.transport = transport, .connect_timeout = std::chrono::milliseconds(3000), .security = security});
    Message request, reply;
    request.head.method = method;
    request.meta = "hello";
    connection->open()->call(request, reply);
    EXPECT_EQ(reply.meta, "hello");
    EXPECT_STREQ(connection->transport(), transport == std::string("tcp") ? "TCP" : "gRPC");
  });
}

// Over both transports, which must agree on whom they let in.
std::string call(const Listener& listener, const std::shared_ptr<const Security>& security,
                 Method method = Method::Echo, const std::string& task = "ps:0") {
  const std::string over_grpc = call_over("grpc", listener, security, method, task);
  const std::string over_tcp = call_over("tcp", listener, security, method, task);
  EXPECT_EQ(over_grpc.empty(), over_tcp.empty()) << over_grpc << over_tcp;
  return over_tcp;
}

// The first request of a caller that does not begin with a heartbeat, and what it gets.
grpc::Status knock(const Listener& listener, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::GenericStub stub(make_channel(listener.address(), std::chrono::milliseconds(2000), credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::CompletionQueue queue;
  auto stream = stub.PrepareCall(&context, kMessagesMethod, &queue);
  grpc::Status status;
  void* tag = nullptr;
  bool ok = false;
  stream->StartCall(&status);
  queue.Next(&tag, &ok);
  stream->Finish(&status, &status);
  queue.Next(&tag, &ok);
  return status;
}

TEST(Secured, TasksOfAClusterKnowEachOther) {
  const ClusterCertificates certificates;
  RoleService service;
  const auto own = certificates.of("ps:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  EXPECT_EQ(call(listener, certificates.of("chief:0")), "");
  EXPECT_EQ(call(listener, certificates.of("worker:1")), "");
  EXPECT_EQ(call(listener, certificates.of("chief:0"), Method::Hello), "");
  EXPECT_THAT(call(listener, certificates.of("worker:1"), Method::Hello),
              AllOf(HasSubstr("PermissionDenied"), HasSubstr("worker")));
}

TEST(Secured, StrangersAreKeptOut) {
  const ClusterCertificates certificates, others, other_cluster("other");
  RoleService service;
  const auto own = certificates.of("ps:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  EXPECT_NE(call(listener, nullptr), "") << "plain text";
  EXPECT_NE(call(listener, others.of("chief:0")), "") << "of another authority";
  EXPECT_NE(call(listener, secret(std::string(32, 's'), "chief:0")), "") << "without a certificate";
  auto stranger = std::make_shared<Security>(*certificates.of("chief:0"));
  const auto made = make_task_certificate(certificates.authority(), {"other", "chief", 0}, {}, 1);
  stranger->files.certificate = certificates.write("stranger.pem", made.certificate);
  stranger->files.private_key = certificates.write("stranger.key", made.key);
  EXPECT_NE(call(listener, stranger), "") << "of another cluster";
  auto late = std::make_shared<Security>(*certificates.of("chief:0"));
  late->files = certificates.options_of("chief:0", -1);
  EXPECT_NE(call(listener, late), "") << "one that has ended";
  EXPECT_EQ(call(listener, certificates.of("chief:0")), "");
}

TEST(Secured, CallersKnowWhomTheyCall) {
  const ClusterCertificates certificates;
  RoleService service;
  const auto own = certificates.of("worker:7");
  Listener listener("127.0.0.1:0", service, "worker:7", {}, own.get());
  EXPECT_NE(call(listener, certificates.of("chief:0"), Method::Echo, "ps:0"), "");
  EXPECT_EQ(call(listener, certificates.of("chief:0"), Method::Echo, "worker:7"), "");
  Listener plain("127.0.0.1:0", service, "ps:0");
  EXPECT_NE(call(plain, certificates.of("chief:0")), "");
}

TEST(Secured, CertificatesAreReadAgainWhenTheyChange) {
  const ClusterCertificates certificates;
  RoleService service;
  auto own = std::make_shared<Security>(*certificates.of("ps:0"));
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  const auto chief = certificates.of("chief:0");
  EXPECT_EQ(call(listener, chief), "");
  const auto other = make_task_certificate(certificates.authority(), {"training", "ps", 1}, {}, 1);
  certificates.write("ps-0.key", other.key);
  certificates.write("ps-0.pem", other.certificate);
  std::string said;
  for (int i = 0; i < 100 && said.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    said = call_over("grpc", listener, chief);
  }
  EXPECT_NE(said, "") << "the server shows the certificate of ps:1 by now";
  EXPECT_NE(call(listener, chief), "") << "over either transport";
}

TEST(Secured, SecretsAreProvenByBothSides) {
  RoleService service;
  const auto own = secret(std::string(32, 's'), "ps:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  EXPECT_EQ(call(listener, secret(std::string(32, 's'), "chief:0"), Method::Hello), "");
  EXPECT_THAT(call(listener, secret(std::string(32, 's'), "worker:2"), Method::Hello), HasSubstr("PermissionDenied"));
  EXPECT_THAT(call(listener, secret(std::string(32, 't'), "chief:0")), HasSubstr("PermissionDenied"));
  EXPECT_NE(call(listener, nullptr), "");
}

TEST(Secured, SecretsAreProvenAtOnce) {
  RoleService service;
  const auto own = secret(std::string(32, 's'), "ps:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  int slow = 0;
  for (int i = 0; i < 12; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(call(listener, secret(std::string(32, 's'), "chief:0")), "");
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(900)) ++slow;
  }
  EXPECT_LE(slow, 2) << "a heartbeat later";
}

TEST(Secured, NobodySkipsTheProof) {
  RoleService service;
  const auto own = secret(std::string(32, 's'), "ps:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  const auto encrypted = caller_credentials(own.get(), {"ps:0", listener.address()});
  EXPECT_EQ(knock(listener, encrypted.credentials).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

// Stands between callers and a task: ends the encryption, with a certificate of its own, and passes on whatever both
// say to prove that they know the secret, which it does not know itself.
class Relay {
 public:
  explicit Relay(const std::string& target)
      : target_(target),
        task_([this](test::HandmadeTask::Call& call) { pass_on(call); }, server_credentials(&own_).credentials) {}
  const std::string& address() const { return task_.address(); }
  // Of the caller; and of the task.
  int proofs() const { return proofs_; }
  int beats() const { return beats_; }
  // What the task has ended its call with, once it has.
  grpc::Status end() {
    EXPECT_TRUE(test::comes_true([&] { return has_ended_.load(); }, std::chrono::seconds(10)));
    std::lock_guard lock(mutex_);
    return end_;
  }

 private:
  void pass_on(test::HandmadeTask::Call& caller) {
    if (caller.method() != kHeartbeatMethod) return;
    const auto credentials = caller_credentials(&own_, {"ps:0", target_});
    test::HandmadeStream task(target_, kHeartbeatMethod, credentials.credentials);
    std::string greeting, challenge, proof, beat;
    if (!caller.hear(greeting) || !task.say(greeting) || !task.hear(challenge) || !caller.say(challenge)) return;
    if (!caller.hear(proof)) return;
    ++proofs_;
    task.say(proof);
    if (task.hear(beat)) {
      ++beats_;
      return;
    }
    std::lock_guard lock(mutex_);
    end_ = task.end();
    has_ended_ = true;
  }

  const Security own_{.kind = Security::Kind::Secret, .secret = std::string(32, 'x'), .own = {"", "ps", 0}};
  const std::string target_;
  std::atomic<int> proofs_ = 0, beats_ = 0;
  std::atomic<bool> has_ended_ = false;
  std::mutex mutex_;  // guards the next one
  grpc::Status end_;
  test::HandmadeTask task_;  // last: its threads use the rest
};

TEST(Secured, CallersGiveNoProofToWhoStandsBetween) {
  RoleService service;
  const auto own = secret(std::string(32, 's'), "ps:0"), chief = secret(std::string(32, 's'), "chief:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  Relay relay(listener.address());
  for (const char* transport : {"grpc", "tcp"}) {
    EXPECT_THAT(
        error_of([&] {
          connect({"ps:0", relay.address()},
                  {.transport = transport, .connect_timeout = std::chrono::milliseconds(10'000), .security = chief});
        }),
        AllOf(HasSubstr("PermissionDenied"), HasSubstr("a server that knows the cluster's secret")));
  }
  EXPECT_EQ(relay.proofs(), 0);
  EXPECT_EQ(relay.beats(), 0);
  EXPECT_EQ(call(listener, chief), "") << "without anybody between";
}

// As CallerProof::answer(), of a caller that believes whoever answers.
std::string credulous_answer(const std::string& secret, const std::string& greeting, const std::string& challenge,
                             const std::string& fingerprint) {
  return hmac_sha256(secret, "cohort.v1 caller" + challenge.substr(0, 32) + fingerprint + greeting);
}

TEST(Secured, ATaskTakesNoProofThatWasMadeForWhoStandsBetween) {
  RoleService service;
  const std::string known(32, 's');
  const auto own = secret(known, "ps:0"), chief = secret(known, "chief:0");
  Listener listener("127.0.0.1:0", service, "ps:0", {}, own.get());
  Relay relay(listener.address());
  const CallerProof caller(known, chief->own);
  // Whether the caller is let in, at that address.
  const auto is_let_in = [&](const std::string& address) {
    const auto credentials = caller_credentials(chief.get(), {"ps:0", address});
    test::HandmadeStream stream(address, kHeartbeatMethod, credentials.credentials);
    std::string challenge, beat;
    EXPECT_TRUE(stream.say(caller.greeting()));
    EXPECT_TRUE(stream.hear(challenge));
    EXPECT_TRUE(stream.say(credulous_answer(known, caller.greeting(), challenge, credentials.seen->fingerprint())));
    return stream.hear(beat);
  };
  EXPECT_TRUE(is_let_in(listener.address())) << "without anybody between";
  EXPECT_FALSE(is_let_in(relay.address()));
  const grpc::Status end = relay.end();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(end.error_message(), HasSubstr("a caller that knows the cluster's secret is expected"));
  EXPECT_EQ(relay.proofs(), 1);
  EXPECT_EQ(relay.beats(), 0);
}

// A proof that is heard, or made towards another, is of no use.
TEST(SharedSecret, IsBoundToItsConnection) {
  const std::string text(32, 's'), ours(32, 'a'), theirs(32, 'b');
  const TaskIdentity chief{"", "chief", 0};
  const CallerProof caller(text, chief);
  ServerProof server(text, ours);
  const std::string challenge = server.challenge(caller.greeting());
  EXPECT_THROW(caller.answer(challenge, theirs), Error) << "somebody between the two shows another certificate";
  const std::string answer = caller.answer(challenge, ours);
  EXPECT_EQ(server.check(answer), chief);
  ServerProof again(text, ours);
  again.challenge(caller.greeting());
  EXPECT_THROW(again.check(answer), Error) << "a proof that was heard before";
  EXPECT_THROW(again.check(challenge.substr(32)), Error) << "the server's own code sent back";
  EXPECT_THROW(ServerProof(text, ours).check(answer), Error);
  std::string other_role = caller.greeting();
  other_role.back() = '1';
  ServerProof third(text, ours);
  third.challenge(other_role);
  EXPECT_THROW(third.check(answer), Error);
  EXPECT_THROW(third.challenge("short"), Error);
  EXPECT_THROW(third.challenge(std::string(1000, 'x')), Error);
  EXPECT_THROW(caller.answer("short", ours), Error);
}

}  // namespace
}  // namespace cohort::distribute::rpc
