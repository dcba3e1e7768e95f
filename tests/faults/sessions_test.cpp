// Sessions of several clients on real processes: two parameter servers and a worker that is the master.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <random>

#include "cohort/cohort.h"
#include "tests/faults/two_totals.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"
#include "tests/support/started_program.h"

namespace cohort::test {
namespace {

using distribute::Session;
using distribute::SessionGraph;
using testing::Contains;
using testing::HasSubstr;

constexpr const char *kTarget = "COHORT_TEST_TARGET", *kOtherTarget = "COHORT_TEST_OTHER_TARGET";

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

// The book's programs: pinned ops, variables that are spread over two ps, two clients that share one.
//   masters: two tasks of a cluster with two ps and a worker.
void run_the_book(const std::vector<std::string>& masters, const distribute::SecurityOptions& security) {
  const distribute::SessionOptions options{.log_device_placement = true, .transport = "tcp", .security = security};
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
  Session session(masters[0], graph, options);
  EXPECT_EQ(session.run(c).item<float>(), 4.0f);
  EXPECT_THAT(session.placement(), Contains("add: (Add) /job:worker/replica:0/task:0/device:TEST:1"));

  const TwoTotals totals("shared");
  Session first(masters[0], totals.graph, options), second(masters[1], totals.graph, options);
  totals.run(first, 1.0f);
  totals.run(second, 2.0f);
  EXPECT_EQ(totals.read(first), (std::vector<float>{3.0f, 6.0f}));
  EXPECT_THAT(first.placement(), Contains("total: (Variable) /job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(first.placement(), Contains("total_1: (Variable) /job:ps/replica:0/task:1/device:CPU:0"));
}

// Certificates as `cohort certs make` makes them, and where programs find those of a task.
class MadeCertificates {
 public:
  MadeCertificates() {
    StartedProgram made("cohort",
                        {.arguments = {"certs", "make", folder_.file("certs"), "--cluster", "training", "--job", "ps=2",
                                       "--job", "worker=2", "--job", "client"}},
                        folder_.path());
    EXPECT_EQ(made.wait(std::chrono::seconds(60)), 0) << made.errors();
  }
  distribute::SecurityOptions of(const std::string& task) const {
    const std::string path = folder_.file("certs/");
    return {
        .ca_certificate = path + "ca.pem", .certificate = path + task + ".pem", .private_key = path + task + ".key"};
  }
  std::vector<std::pair<std::string, std::string>> environment_of(const std::string& task) const {
    const distribute::SecurityOptions files = of(task);
    return {{"COHORT_CA_CERTIFICATE", files.ca_certificate},
            {"COHORT_CERTIFICATE", files.certificate},
            {"COHORT_PRIVATE_KEY", files.private_key}};
  }

 private:
  const TemporaryFolder folder_;
};

// A program on a host, in a folder of its own: this machine, or a network namespace.
class HostedProgram {
 public:
  HostedProgram(const std::string& host, const std::string& program, std::vector<std::string> arguments,
                std::vector<std::pair<std::string, std::string>> environment)
      : program_(host.empty() ? program : "/sbin/ip", {in(host, program, std::move(arguments)), std::move(environment)},
                 folder_.path()) {}
  StartedProgram& operator*() { return program_; }

 private:
  static std::vector<std::string> in(const std::string& host, const std::string& program,
                                     std::vector<std::string> arguments) {
    if (!host.empty()) arguments.insert(arguments.begin(), {"netns", "exec", host, program_path(program).string()});
    return arguments;
  }
  const TemporaryFolder folder_;
  StartedProgram program_;
};

std::vector<std::string> server_arguments(const distribute::ClusterSpec& spec, const std::string& job, int index) {
  return {"server", "--job", job, "--task", std::to_string(index), "--cluster", spec.as_text(), "--transport", "tcp"};
}

TEST(SecuredSessions, RunTheProgramsOfTheBook) {
  const MadeCertificates certificates;
  const std::vector<std::string> addresses = free_addresses(3);
  const distribute::ClusterSpec spec({{"ps", {addresses[0], addresses[1]}}, {"worker", {addresses[2]}}});
  HostedProgram ps0("", "cohort", server_arguments(spec, "ps", 0), certificates.environment_of("ps-0"));
  HostedProgram ps1("", "cohort", server_arguments(spec, "ps", 1), certificates.environment_of("ps-1"));
  HostedProgram worker("", "cohort", server_arguments(spec, "worker", 0), certificates.environment_of("worker-0"));
  run_the_book({"grpc://" + addresses[2], "grpc://" + addresses[1]}, certificates.of("client-0"));
  EXPECT_THAT(error_of([&] {
                Session("grpc://" + addresses[0], SessionGraph(),
                        {.transport = "tcp", .security = certificates.of("worker-1")});
              }),
              HasSubstr("PermissionDenied"));
}

// What the client of another host runs.
TEST(SessionClient, DISABLED_RunsTheBook) { run_the_book({std::getenv(kTarget), std::getenv(kOtherTarget)}, {}); }

// Two hosts with a cable between them.
class TwoHosts {
 public:
  TwoHosts() {
    is_there_ = ip("netns add " + first) && ip("netns add " + second) &&
                ip("-n " + first + " link add eth0 type veth peer name eth0 netns " + second);
    int number = 0;
    for (const std::string& host : {first, second}) {
      const std::string address = "10.213.18." + std::to_string(++number);
      is_there_ = is_there_ && ip("-n " + host + " address add " + address + "/24 dev eth0") &&
                  ip("-n " + host + " link set eth0 up") && ip("-n " + host + " link set lo up");
    }
  }
  ~TwoHosts() {
    ip("netns delete " + first);
    ip("netns delete " + second);
  }
  bool is_there() const { return is_there_; }

  const std::string first = "cohort-a" + std::to_string(::getpid()), second = "cohort-b" + std::to_string(::getpid());

 private:
  static bool ip(const std::string& arguments) {
    return std::system(("/sbin/ip " + arguments + " >/dev/null 2>&1").c_str()) == 0;
  }
  bool is_there_ = false;
};

TEST(SecuredSessions, RunTheProgramsOfTheBookBetweenTwoHosts) {
  const TwoHosts hosts;
  if (!hosts.is_there()) GTEST_SKIP() << "this machine does not let us make network namespaces (ip netns)";
  const MadeCertificates certificates;
  const distribute::ClusterSpec spec(
      {{"ps", {"10.213.18.1:2221", "10.213.18.1:2222"}}, {"worker", {"10.213.18.2:2223"}}});
  HostedProgram ps0(hosts.first, "cohort", server_arguments(spec, "ps", 0), certificates.environment_of("ps-0"));
  HostedProgram ps1(hosts.first, "cohort", server_arguments(spec, "ps", 1), certificates.environment_of("ps-1"));
  HostedProgram worker(hosts.second, "cohort", server_arguments(spec, "worker", 0),
                       certificates.environment_of("worker-0"));
  auto environment = certificates.environment_of("client-0");
  environment.emplace_back(kTarget, "grpc://10.213.18.2:2223");
  environment.emplace_back(kOtherTarget, "grpc://10.213.18.1:2222");
  HostedProgram client(
      hosts.first, "tests/faults_test",
      {"--gtest_filter=SessionClient.DISABLED_RunsTheBook", "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
      environment);
  EXPECT_EQ((*client).wait(std::chrono::seconds(30)), 0)
      << (*client).output() << (*client).errors() << (*worker).errors();
  EXPECT_THAT((*client).output(), HasSubstr("PASSED  ] 1 test"));
}

}  // namespace
}  // namespace cohort::test
