// Sessions of several clients on real processes: two parameter servers and a worker that is the master.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <random>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"
#include "tests/support/started_program.h"

namespace cohort::test {
namespace {

using distribute::Feeds;
using distribute::Operation;
using distribute::Session;
using distribute::SessionGraph;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kTarget = "COHORT_TEST_TARGET";

// A number on each ps; a step adds to both.
struct TwoTotals {
  explicit TwoTotals(const std::string& in_container) {
    auto building = graph.as_default();
    auto where = distribute::container(in_container);
    auto scope = device(distribute::replica_device_setter({.ps_tasks = 2}));
    Variable first(Tensor::scalar(0.0f), {.name = "total"}), second(Tensor::scalar(0.0f), {.name = "total"});
    by = graph.placeholder(float32, {});
    add = graph.operation([&] {
      first.assign_add(by);
      second.assign_add(by * 2.0f);
    });
    totals = {first.value(), second.value()};
  }
  void run(Session& session, float amount) const { session.run(add, {{by, Tensor::scalar(amount)}}); }
  std::vector<float> read(Session& session) const {
    const Tensors values = session.run({totals[0], totals[1]});
    return {values[0].item<float>(), values[1].item<float>()};
  }
  SessionGraph graph;
  Tensor by;
  Operation add;
  Tensors totals;
};

// The client that is killed: what it adds to is its own, but for what it shares with others of its kind.
TEST(SessionClient, DISABLED_AddsForEver) {
  const TwoTotals own("own"), shared("victims");
  Session first(std::getenv(kTarget), own.graph, {.private_variables = true});
  Session second(std::getenv(kTarget), shared.graph);
  for (int i = 0;; ++i) {
    own.run(first, 1.0f);
    shared.run(second, 1.0f);
    if (i == 0) std::printf("adding\n");
    std::fflush(stdout);
  }
}

std::unique_ptr<StartedProgram> start_client(const std::string& target, const TemporaryFolder& folder) {
  return std::make_unique<StartedProgram>(
      "tests/faults_test",
      StartedProgramOptions{.arguments = {"--gtest_filter=SessionClient.DISABLED_AddsForEver",
                                          "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
                            .environment = {{kTarget, target}}},
      folder.path());
}

// Whoever is killed, at whatever moment, changes nothing for the others.
TEST(KilledSession, LeavesTheSumsOfOthersExact) {
  ProcessCluster cluster(1, 2);
  const std::string target = "grpc://" + cluster.spec().task_address("worker", 0);
  std::atomic<bool> stop = false;
  std::atomic<int> added = 0;
  const auto add = [&](const std::string& at) {
    const TwoTotals mine("lasting");
    Session session("grpc://" + at, mine.graph);
    int times = 0;
    for (; !stop; ++times, ++added) mine.run(session, 1.0f);
    return times;
  };
  auto one = std::async(std::launch::async, add, cluster.spec().task_address("worker", 0));
  auto two = std::async(std::launch::async, add, cluster.spec().task_address("ps", 1));
  std::mt19937 random(18);
  for (int kill = 0; kill < kills_wanted(3); ++kill) {
    const TemporaryFolder folder;
    const int before = added;
    const auto client = start_client(target, folder);
    // Every other one is perhaps killed before it has opened its sessions.
    const auto is_adding = [&] { return client->output().find("adding") != std::string::npos; };
    if (kill % 2 == 0) {
      EXPECT_TRUE(becomes_true(is_adding)) << client->errors();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    ASSERT_EQ(client->wait(std::chrono::seconds(0)), std::nullopt) << client->output() << client->errors();
    client->signal(SIGKILL);
    EXPECT_TRUE(becomes_true([&] { return added > before + 10; }));
  }
  stop = true;
  const auto times = static_cast<float>(one.get() + two.get());
  const TwoTotals mine("lasting"), victims("victims");
  Session session(target, mine.graph), other(target, victims.graph);
  EXPECT_EQ(mine.read(session), (std::vector<float>{times, 2 * times}));
  EXPECT_GT(victims.read(other)[0], 0.0f);  // they did something
  std::printf("%d steps beside %d kills\n", static_cast<int>(times), kills_wanted(3));
}

// A task as a process that proves who it is by what `cohort certs make` has made.
class SecuredTask {
 public:
  SecuredTask(const distribute::ClusterSpec& spec, const std::string& job, int index, const std::string& certificates)
      : program_("cohort",
                 {.arguments = {"server", "--job", job, "--task", std::to_string(index), "--cluster", spec.as_text(),
                                "--transport", "grpc"},
                  .environment = environment(certificates, job + "-" + std::to_string(index))},
                 folder_.path()) {}
  static std::vector<std::pair<std::string, std::string>> environment(const std::string& folder,
                                                                      const std::string& task) {
    return {{"COHORT_CA_CERTIFICATE", folder + "/ca.pem"},
            {"COHORT_CERTIFICATE", folder + "/" + task + ".pem"},
            {"COHORT_PRIVATE_KEY", folder + "/" + task + ".key"}};
  }
  std::string said() const { return program_.output() + program_.errors(); }

 private:
  const TemporaryFolder folder_;
  StartedProgram program_;
};

// The book's programs: pinned ops, variables that are spread over two ps, two clients that share one.
TEST(SecuredSessions, RunTheProgramsOfTheBook) {
  const TemporaryFolder folder;
  const std::string certificates = folder.file("certs");
  StartedProgram made("cohort",
                      {.arguments = {"certs", "make", certificates, "--cluster", "training", "--job", "ps=2", "--job",
                                     "worker=2", "--job", "client"}},
                      folder.path());
  ASSERT_EQ(made.wait(std::chrono::seconds(60)), 0) << made.errors();
  const std::vector<std::string> addresses = free_addresses(3);
  const distribute::ClusterSpec spec({{"ps", {addresses[0], addresses[1]}}, {"worker", {addresses[2]}}});
  const SecuredTask ps0(spec, "ps", 0, certificates), ps1(spec, "ps", 1, certificates),
      worker(spec, "worker", 0, certificates);
  const auto options = [&](const std::string& task) {
    return distribute::SessionOptions{.log_device_placement = true,
                                      .transport = "grpc",
                                      .security = {.ca_certificate = certificates + "/ca.pem",
                                                   .certificate = certificates + "/" + task + ".pem",
                                                   .private_key = certificates + "/" + task + ".key"}};
  };

  const SessionGraph graph;
  auto building = graph.as_default();
  Tensor a, b;
  {
    auto scope = device("/job:ps/task:0/cpu:0");
    a = graph.constant(1.0);
  }
  {
    auto scope = device("/job:worker/task:0/device:TEST:1");
    b = a + 2.0f;
  }
  const Tensor c = a + b;
  Session session("grpc://" + addresses[2], graph, options("client-0"));
  EXPECT_EQ(session.run(c).item<float>(), 4.0f) << ps0.said() << worker.said();

  const TwoTotals totals("shared");
  Session first("grpc://" + addresses[2], totals.graph, options("client-0"));
  Session second("grpc://" + addresses[1], totals.graph, options("client-0"));
  totals.run(first, 1.0f);
  totals.run(second, 2.0f);
  EXPECT_EQ(totals.read(first), (std::vector<float>{3.0f, 6.0f})) << ps1.said();
  EXPECT_THAT(first.placement(), Contains("total: (Variable) /job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(first.placement(), Contains("total_1: (Variable) /job:ps/replica:0/task:1/device:CPU:0"));
  EXPECT_THAT(error_of([&] { Session("grpc://" + addresses[0], totals.graph, options("worker-1")); }),
              HasSubstr("PermissionDenied"));
}

}  // namespace
}  // namespace cohort::test
