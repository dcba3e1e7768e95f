// Servers of a secured cluster, processes that take part in a training, among callers who have no business there.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/rpc/grpc_credentials.h"
#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/shared_secret.h"
#include "cohort/distribute/rpc/wire.h"
#include "cohort/files/crc32c.h"
#include "tests/distribute/rpc/attackers.h"
#include "tests/distribute/rpc/handmade_stream.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/resident_memory.h"
#include "tests/support/server_process.h"

namespace cohort::distribute::rpc {
namespace {

using test::HandmadeStream;
using namespace std::chrono_literals;
using cohort::test::ClusterCertificates;
using cohort::test::error_of;
using testing::AnyOf;
using testing::HasSubstr;

// How many connections attackers hold at once, and how often a training is timed beside them: few in the suite,
// COHORT_TEST_STRANGERS connections (10,000 where the limit on files allows it) and five turns where somebody wants
// to know.
int strangers_wanted() {
  const char* text = std::getenv("COHORT_TEST_STRANGERS");
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return std::min(text ? std::atoi(text) : 1500, static_cast<int>(std::min<rlim_t>(files.rlim_cur, 1 << 20) / 2));
}
int turns_wanted() { return std::getenv("COHORT_TEST_STRANGERS") ? 5 : 1; }

// The most memory that a process has had.
std::int64_t peak_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

// What strangers may take of a process is measured as users run it.
class Strangers : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes memory and time of its own";
#endif
  }
};

// A worker and a ps with whom this process, their chief, trains.
class SecuredCluster {
 public:
  // By certificates, or by the secret in that file.
  explicit SecuredCluster(const std::string& secret_file = {}) : secret_file_(secret_file) {
    const auto addresses = cohort::test::free_addresses(2);
    spec_ = ClusterSpec({{"worker", {addresses[0]}}, {"ps", {addresses[1]}}});
    for (const char* job : {"ps", "worker"}) {
      const SecurityOptions security = options_of(std::string(job) + ":0");
      std::vector<std::string> arguments{"--transport", "grpc"};
      if (secret_file.empty()) {
        arguments.insert(arguments.end(), {"--ca-certificate", security.ca_certificate, "--certificate",
                                           security.certificate, "--private-key", security.private_key});
      } else {
        arguments.insert(arguments.end(), {"--secret-file", secret_file});
      }
      tasks_.push_back(
          std::make_unique<cohort::test::ServerProcess>(job, 0, spec_.as_text(), "", logs_.file(job), arguments));
    }
    strategy_ = std::make_unique<ParameterServerStrategy>(
        SimpleClusterResolver(spec_),
        ParameterServerStrategyOptions{
            .transport = "grpc", .job_name = "among strangers", .security = options_of("chief:0")});
    auto scope = strategy_->scope();
    model_ = std::make_unique<Sequential>();
    model_->add(layers::Dense(256, {.activation = "relu"}));
    model_->add(layers::Dense(1));
    model_->compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 5});
    train(20);
    peak_ = peak_bytes(ps().id());
  }
  SecurityOptions options_of(const std::string& task) const {
    return secret_file_.empty() ? certificates_.options_of(task) : SecurityOptions{.secret_file = secret_file_};
  }
  std::shared_ptr<const Security> security_of(const std::string& task) const {
    return make_security(options_of(task), task);
  }
  const ClusterCertificates& certificates() const { return certificates_; }
  cohort::test::ServerProcess& ps() { return *tasks_[0]; }
  std::string address() const { return spec_.task_address("ps", 0); }
  // Steps a second.
  double train(std::int64_t steps) {
    const DatasetCreator data([](const InputContext&) {
      return datasets::from_tensor_slices(Tensor::full({64, 128}, 1), Tensor::full({64, 1}, 1)).repeat().batch(32);
    });
    const auto begin = std::chrono::steady_clock::now();
    model_->fit(data, {.epochs = 1, .verbose = 0, .steps_per_epoch = steps});
    return static_cast<double>(steps) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  // Since the training has run for a while.
  std::int64_t growth() { return peak_bytes(ps().id()) - peak_; }
  // What a caller gets for a request.
  std::string answer(std::shared_ptr<const Security> security, const Message& request) const {
    return error_of([&] {
      Message reply;
      connect({"ps:0", address()}, {.transport = "grpc", .connect_timeout = 5s, .security = security})
          ->open()
          ->call(request, reply);
    });
  }
  std::string answer(std::shared_ptr<const Security> security, Method method = Method::Status) const {
    Message request;
    request.head.method = method;
    return answer(std::move(security), request);
  }

 private:
  const ClusterCertificates certificates_;
  const cohort::test::TemporaryFolder logs_;
  const std::string secret_file_;
  ClusterSpec spec_;
  std::vector<std::unique_ptr<cohort::test::ServerProcess>> tasks_;
  std::unique_ptr<ParameterServerStrategy> strategy_;
  std::unique_ptr<Sequential> model_;
  std::int64_t peak_ = 0;
};

constexpr std::int64_t kMostGrowth = (std::int64_t{200} << 20) + cohort::test::kFreedAndKept;

// The only chunk of a message, with a prologue that says something else; its sum is right.
std::string lying_chunk(const std::function<void(wire::ChunkHeader&, wire::Prologue&)>& lie) {
  wire::ChunkHeader header;
  wire::Prologue prologue;
  prologue.head.method = Method::Exchange;
  header.total = sizeof prologue;
  lie(header, prologue);
  std::string chunk(sizeof header + sizeof prologue, '\0');
  std::memcpy(chunk.data(), &header, sizeof header);
  std::memcpy(chunk.data() + sizeof header, &prologue, sizeof prologue);
  const std::uint32_t sum =
      crc32c_extend(0, chunk.data() + wire::kUnsummedHeader, chunk.size() - wire::kUnsummedHeader);
  std::memcpy(chunk.data() + offsetof(wire::ChunkHeader, crc), &sum, sizeof sum);
  return chunk;
}

TEST_F(Strangers, AreRefusedByCertificatesAndToldWhy) {
  const cohort::test::Deadline deadline(120s);
  SecuredCluster cluster;
  const ClusterCertificates others;
  const auto with = [&](const TaskIdentity& task, int days, int begins) {
    const auto made = make_task_certificate(cluster.certificates().authority(), task, {}, days, begins);
    auto security = std::make_shared<Security>(*cluster.security_of("chief:0"));
    static int number = 0;
    const std::string name = "stranger" + std::to_string(number++);
    security->files.certificate = cluster.certificates().write(name + ".pem", made.certificate);
    security->files.private_key = cluster.certificates().write(name + ".key", made.key);
    return security;
  };
  const TaskIdentity chief{"training", "chief", 0};
  const auto refused = AnyOf(HasSubstr("certificate"), HasSubstr("encrypted callers only"));
  EXPECT_THAT(cluster.answer(nullptr), HasSubstr("encrypted callers only"));
  EXPECT_THAT(cluster.answer(std::make_shared<Security>(
                  Security{.kind = Security::Kind::Secret, .secret = std::string(32, 's'), .own = chief})),
              refused);
  EXPECT_THAT(cluster.answer(others.of("chief:0")), refused);
  EXPECT_THAT(cluster.answer(with(chief, -1, 0)), refused) << "has ended";
  EXPECT_THAT(cluster.answer(with(chief, 9, 2)), refused) << "has not begun";
  EXPECT_THAT(cluster.answer(with({"other", "chief", 0}, 1, 0)), refused);
  // Members who may not lead.
  for (const Method method : {Method::Hello, Method::CreateVariable, Method::RunGraph, Method::EndJob, Method::Release,
                              Method::Trace, Method::Fence, Method::RegisterWorker, Method::RegisterServer}) {
    EXPECT_THAT(cluster.answer(cluster.security_of("worker:0"), method), HasSubstr("may lead a job"));
  }
  EXPECT_EQ(cluster.answer(cluster.security_of("worker:0")), "");
  // Another chief than the one that leads.
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_job_name("ps");
  hello.set_from("another chief");
  hello.set_led_job("among strangers");
  hello.add_cluster()->set_name("ps");
  hello.mutable_cluster(0)->add_tasks()->set_address(cluster.address());
  Message greeting;
  greeting.head.method = Method::Hello;
  greeting.head.job = 12345;
  greeting.meta = hello.SerializeAsString();
  EXPECT_THAT(cluster.answer(cluster.security_of("chief:0"), greeting), HasSubstr("a job that no chief leads"));
  EXPECT_GT(cluster.train(20), 0);
  EXPECT_LT(cluster.growth(), kMostGrowth);
}

TEST_F(Strangers, CannotReplayOrRelayAProof) {
  const cohort::test::Deadline deadline(120s);
  const cohort::test::TemporaryFolder folder;
  const std::string text(40, 's');
  std::ofstream(folder.file("secret")) << text;
  SecuredCluster cluster(folder.file("secret"));
  const Security known{.kind = Security::Kind::Secret, .secret = text, .own = {"", "chief", 0}};
  const auto begin = [&](const CallerCredentials& credentials) {
    return std::make_unique<HandmadeStream>(cluster.address(), kHeartbeatMethod, credentials.credentials);
  };
  const auto credentials = [&] { return caller_credentials(&known, {"ps:0", cluster.address()}); };
  // An honest proof, by hand.
  const CallerProof caller(text, known.own);
  const auto first_credentials = credentials();
  auto first = begin(first_credentials);
  std::string challenge, beat;
  ASSERT_TRUE(first->say(caller.greeting()));
  ASSERT_TRUE(first->hear(challenge));
  const std::string proof = caller.answer(challenge, first_credentials.seen->fingerprint());
  ASSERT_TRUE(first->say(proof));
  ASSERT_TRUE(first->hear(beat));
  // The same words again on a connection of one's own.
  const auto second_credentials = credentials();
  auto second = begin(second_credentials);
  std::string other_challenge;
  ASSERT_TRUE(second->say(caller.greeting()));
  ASSERT_TRUE(second->hear(other_challenge));
  EXPECT_NE(other_challenge, challenge);
  EXPECT_TRUE(second->say(proof));
  EXPECT_FALSE(second->hear(beat));
  const grpc::Status replayed = second->end();
  EXPECT_EQ(replayed.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(replayed.error_message(), HasSubstr("a caller that knows the cluster's secret is expected"));
  // Whoever stands between two shows a certificate of their own, and the caller goes no further.
  const std::string between(32, 'b');
  EXPECT_THAT(error_of([&] { caller.answer(other_challenge, between); }), HasSubstr("a server that knows"));
  // One proof for each connection, and no call without.
  auto third = begin(credentials());
  EXPECT_TRUE(third->say("no proof"));
  EXPECT_EQ(third->end().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  HandmadeStream silent(cluster.address(), kMessagesMethod, credentials().credentials);
  EXPECT_EQ(silent.end().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(cluster.answer(nullptr), HasSubstr("encrypted callers only"));
  EXPECT_GT(cluster.train(20), 0);
  EXPECT_LT(cluster.growth(), kMostGrowth);
}

TEST_F(Strangers, MembersThatLieTakeNoMemory) {
  const cohort::test::Deadline deadline(120s);
  SecuredCluster cluster;
  const auto member = cluster.security_of("worker:0");
  const auto credentials = caller_credentials(member.get(), {"ps:0", cluster.address()});
  const std::uint64_t far = std::uint64_t{1} << 62;
  const std::vector<std::string> lies{
      lying_chunk([&](auto& header, auto& prologue) { header.total = prologue.data_bytes = far; }),
      lying_chunk([&](auto& header, auto& prologue) { header.total += prologue.meta_bytes = far; }),
      lying_chunk([&](auto& header, auto& prologue) { header.total += prologue.spec_bytes = far; }),
      lying_chunk([&](auto& header, auto&) { header.total = ~std::uint64_t{0}; }),
      lying_chunk([&](auto&, auto& prologue) { prologue.parts = ~0u; }),
      lying_chunk([&](auto& header, auto&) { header.number = 7; }),
      lying_chunk([&](auto& header, auto&) { header.magic = 1; }),
      std::string(1 << 20, 'x')};
  for (std::size_t i = 0; i < lies.size(); ++i) {
    HandmadeStream stream(cluster.address(), kMessagesMethod, credentials.credentials);
    stream.say(lies[i]);
    std::string answer;
    const bool answered = stream.hear(answer);
    EXPECT_TRUE(answered || stream.end().error_code() == grpc::StatusCode::DATA_LOSS) << i;
  }
  // Requests that are not a worker's to send, as fast as they go.
  const auto connection = connect({"ps:0", cluster.address()}, {.transport = "grpc", .security = member});
  const auto stream = connection->open();
  Message request, reply;
  request.head.method = Method::CreateVariable;
  request.meta = std::string(1000, '\x0a');
  int refusals = 0;
  for (int i = 0; i < 2000; ++i) refusals += error_of([&] { stream->call(request, reply); }).empty() ? 0 : 1;
  EXPECT_EQ(refusals, 2000);
  EXPECT_GT(cluster.train(20), 0);
  EXPECT_LT(cluster.growth(), kMostGrowth);
}

TEST_F(Strangers, PlainTextAndNoiseEndTheirOwnConnectionAlone) {
  const cohort::test::Deadline deadline(60s);
  SecuredCluster cluster;
  const std::string hello = test::client_hello();
  for (const std::string& words :
       {test::http2_preface(), std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, '\x81'),
        "\x16\x03\x01\xff\xff" + std::string(100, 'x'), hello.substr(0, 5) + std::string(hello.size() - 5, '\xff')}) {
    const test::RawCaller caller(cluster.address());
    caller.say(words);
    bool closed = false;
    caller.hear(5s, closed);
    EXPECT_TRUE(closed) << words.substr(0, 10);
  }
  EXPECT_GT(cluster.train(20), 0);
}

TEST_F(Strangers, ThatGoOnWithNothingAreCutOff) {
  const ClusterCertificates certificates;
  const auto own = certificates.of("ps:0");
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.connection_patience = 300ms}, own.get());
  const std::string hello = test::client_hello();
  const test::RawCaller half(listener.address()), whole(listener.address());
  half.say(hello.substr(0, hello.size() / 2));
  whole.say(hello);
  bool closed = false;
  EXPECT_EQ(half.hear(4s, closed), "");
  EXPECT_TRUE(closed);
  EXPECT_NE(whole.hear(4s, closed), "") << "the server's own hello";
  EXPECT_TRUE(closed);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Attackers meet a task of the training, or by turns a plain gRPC server beside it.
TEST_F(Strangers, DoNotSlowATrainingMuch) {
  const cohort::test::Deadline deadline(600s);
  SecuredCluster cluster;
  const test::PlainGrpcProcess plain;
  const int connections = strangers_wanted(), turns = turns_wanted();
  const std::int64_t steps = turns > 1 ? 2000 : 500;
  std::vector<double> attacked, beside, undisturbed, opened;
  for (int turn = 0; turn < turns; ++turn) {
    const auto timed = [&](const std::string& target, std::vector<double>& rates) {
      const test::Attackers attackers(target, connections);
      EXPECT_TRUE(test::comes_true([&] { return attackers.opened() >= connections; }, 60s)) << attackers.opened();
      rates.push_back(cluster.train(steps));
      opened.push_back(attackers.opened());
    };
    timed(plain.address(), beside);
    timed(cluster.address(), attacked);
    if (turns > 1) undisturbed.push_back(cluster.train(steps));
  }
  std::printf(
      "steps/s: %.0f while %d connections attack it, %.0f while they attack a plain server (%.2f), growth %.1f MB\n",
      median(attacked), connections, median(beside), median(attacked) / median(beside),
      static_cast<double>(cluster.growth()) * 1e-6);
  if (!undisturbed.empty()) std::printf("steps/s: %.0f undisturbed\n", median(undisturbed));
  std::printf("an attack opened %.0f connections\n", median(opened));
  EXPECT_GT(*std::min_element(opened.begin(), opened.end()), 100);
  EXPECT_LT(cluster.growth(), kMostGrowth);
  // A single turn on a busy machine says little.
  EXPECT_GT(median(attacked), (turns > 1 ? 0.9 : 0.25) * median(beside));
  EXPECT_TRUE(test::comes_true([&] { return cluster.answer(cluster.security_of("worker:0")).empty(); }, 10s));
}

}  // namespace
}  // namespace cohort::distribute::rpc
