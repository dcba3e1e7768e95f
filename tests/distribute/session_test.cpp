// The programs of clients that open sessions at servers and pin ops to tasks.
#include "cohort/distribute/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "cohort/cohort.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/error_within.h"
#include "tests/support/free_ports.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using cohort::test::error_within;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

float number_in(const Tensor& value) { return value.item<float>(); }

// Two parameter servers and two workers, reached in one process or by the network.
class Sessions : public testing::TestWithParam<const char*> {
 protected:
  std::string target(const std::string& job, int index) const {
    return "grpc://" + cluster_.spec().task_address(job, index);
  }
  std::unique_ptr<Session> open(const SessionGraph& graph, SessionOptions options = {}) const {
    options.transport = GetParam();
    return std::make_unique<Session>(target("worker", 0), graph, options);
  }

  const LocalCluster cluster_{{{"ps", 2}, {"worker", 2}}, {.transport = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Transports, Sessions, testing::Values("auto", "grpc"));

TEST_P(Sessions, PinsOpsAcrossTasks) {
  const SessionGraph graph;
  auto building = graph.as_default();
  Tensor a, b, c;
  {
    auto scope = device("/job:ps/task:0/cpu:0");
    a = graph.constant(1.0);
  }
  {
    auto scope = device("/job:worker/task:1/device:TEST:1");
    b = a + 2.0f;
  }
  c = a + b;
  const auto session = open(graph, {.log_device_placement = true});
  EXPECT_EQ(session->master(), "worker:0");
  EXPECT_EQ(number_in(session->run(c)), 4.0f);
  const Tensors both = session->run({b, a});
  EXPECT_EQ(number_in(both[0]), 3.0f);
  EXPECT_EQ(number_in(both[1]), 1.0f);
  EXPECT_THAT(session->placement(), Contains("constant: (Constant) /job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(session->placement(), Contains("add: (Add) /job:worker/replica:0/task:1/device:TEST:1"));
  EXPECT_THAT(session->placement(), Contains(HasSubstr("add_1: (Add) /job:worker/replica:0/task:0/device:")));
}

TEST_P(Sessions, SpreadsVariablesWithAReplicaDeviceSetter) {
  const SessionGraph graph;
  auto building = graph.as_default();
  auto scope = device(replica_device_setter({.cluster = cluster_.spec()}));
  const Variable v1(Tensor::scalar(1.0f), {.name = "v"}), v2(Tensor::scalar(2.0f), {.name = "v"}),
      v3(Tensor::scalar(3.0f), {.name = "v"});
  const Tensor s = v1 + v2 + v3;
  Tensor p2;
  {
    auto task = device("/task:1");
    p2 = s * 3.0f;
  }
  const auto session = open(graph, {.private_variables = true, .log_device_placement = true});
  session->run(graph.initializer());
  EXPECT_EQ(number_in(session->run(p2)), 18.0f);
  for (const char* line :
       {"v: (Variable) /job:ps/replica:0/task:0/device:CPU:0", "v_1: (Variable) /job:ps/replica:0/task:1/device:CPU:0",
        "v_2: (Variable) /job:ps/replica:0/task:0/device:CPU:0",
        "multiply: (Multiply) /job:worker/replica:0/task:1/device:CPU:0"}) {
    EXPECT_THAT(session->placement(), Contains(line));
  }
}

// Adds to a variable that others may share.
struct Counter {
  explicit Counter(const std::string& in_container = {}, const std::string& at = "/job:ps/task:1") {
    auto building = graph.as_default();
    auto scope = device(at);
    auto where = container(in_container);
    total = Variable(Tensor::scalar(0.0f), {.name = "total"});
    step = graph.placeholder(float32, {});
    value = total.value();
    add = graph.operation([&] { total.assign_add(step); });
  }
  SessionGraph graph;
  Variable total;
  Tensor step, value;
  Operation add;
};

TEST_P(Sessions, ClientsShareVariablesByNameAndContainer) {
  const Counter mine("shared"), theirs("shared"), elsewhere("another"), own("shared");
  const auto first = open(mine.graph), second = open(theirs.graph), third = open(elsewhere.graph),
             fourth = open(own.graph, {.private_variables = true});
  first->run(mine.add, {{mine.step, Tensor::scalar(2.0f)}});
  Session at_a_ps(target("ps", 0), theirs.graph, {.transport = GetParam()});
  at_a_ps.run(theirs.add, {{theirs.step, Tensor::scalar(5.0f)}});
  EXPECT_EQ(number_in(second->run(theirs.value)), 7.0f);
  EXPECT_EQ(number_in(first->run(mine.value)), 7.0f);
  EXPECT_EQ(number_in(third->run(elsewhere.value)), 0.0f);
  EXPECT_EQ(number_in(fourth->run(own.value)), 0.0f);
  first->close();
  EXPECT_EQ(number_in(second->run(theirs.value)), 7.0f);
  second->run(theirs.graph.initializer());
  EXPECT_EQ(number_in(second->run(theirs.value)), 0.0f);
}

TEST_P(Sessions, ThreadsAndSessionsAddExactly) {
  constexpr int kThreads = 4, kTimes = 50;
  const Counter counter("exact");
  const auto shared = open(counter.graph);
  std::vector<std::future<void>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] {
      const auto own = i % 2 ? open(counter.graph) : nullptr;
      Session& session = own ? *own : *shared;
      for (int k = 0; k < kTimes; ++k) session.run(counter.add, {{counter.step, Tensor::scalar(1.0f)}});
    }));
  }
  for (auto& thread : threads) thread.get();
  EXPECT_EQ(number_in(shared->run(counter.value)), static_cast<float>(kThreads * kTimes));
}

TEST_P(Sessions, AGraphGrowsBetweenRuns) {
  Counter counter("grows");
  const auto session = open(counter.graph);
  session->run(counter.add, {{counter.step, Tensor::scalar(1.0f)}});
  auto building = counter.graph.as_default();
  const Tensor twice = counter.value * 2.0f;
  const Variable other(Tensor::scalar(10.0f), {.name = "other"});
  const Tensor sum = twice + other;
  session->extend();
  EXPECT_EQ(number_in(session->run(sum)), 12.0f);
  EXPECT_EQ(number_in(session->run(sum, {{twice, Tensor::scalar(1.0f)}})), 11.0f);
}

// Momentum's slots lie with their weights, and a step is one operation.
TEST_P(Sessions, TrainsWithAnOptimizer) {
  const SessionGraph graph;
  auto building = graph.as_default();
  auto scope = device(replica_device_setter({.ps_tasks = 2}));
  Variable w(Tensor::scalar(0.0f), {.name = "w"}), b(Tensor::scalar(0.0f), {.name = "b"});
  const Tensor x = graph.placeholder(float32, {4}), y = graph.placeholder(float32, {4});
  optimizers::SGD optimizer(0.1, {.momentum = 0.5});
  Tensor loss;
  const Operation train = graph.operation([&] {
    GradientTape tape;
    loss = ops::mean(ops::square(x * w + b - y));
    optimizer.apply(tape.gradient(loss, Variables{w, b}), {w, b});
  });
  const auto session = open(graph, {.private_variables = true, .log_device_placement = true});
  const Feeds feeds = {{x, Tensor::of({0.0f, 1.0f, 2.0f, 3.0f}, {4})}, {y, Tensor::of({1.0f, 3.0f, 5.0f, 7.0f}, {4})}};
  for (int i = 0; i < 150; ++i) session->run(train, feeds);
  EXPECT_LT(number_in(session->run(loss, feeds)), 1e-3f);
  for (const std::string& line : session->placement()) {
    const bool of_b = line.find("(Variable)") != std::string::npos && line.starts_with("b");
    if (of_b) {
      EXPECT_THAT(line, HasSubstr("/job:ps/replica:0/task:1/"));
    }
  }
}

TEST_P(Sessions, SaysWhatIsWrong) {
  const SessionGraph graph;
  auto building = graph.as_default();
  const Tensor x = graph.placeholder(float32, {2}, "x");
  const Tensor y = x + 1.0f;
  Tensor nowhere, without_gpu;
  {
    auto scope = device("/job:ps/task:9");
    nowhere = x + 2.0f;
  }
  {
    auto scope = device("/job:ps/task:0/gpu:3");
    without_gpu = x + 3.0f;
  }
  const auto session = open(graph);
  const Feeds feeds = {{x, Tensor::full({2}, 0)}};
  EXPECT_THAT(error_of([&] { session->run(y); }), HasSubstr("x: a placeholder must be fed"));
  EXPECT_THAT(error_of([&] { session->run(y, {{x, Tensor::full({3}, 0)}}); }), HasSubstr("expected=float32(2,)"));
  EXPECT_THAT(error_of([&] { session->run(nowhere, feeds); }), HasSubstr("task:9"));
  EXPECT_THAT(error_of([&] { session->run(without_gpu, feeds); }),
              AllOf(HasSubstr("add_2"), HasSubstr("GPU:3"), HasSubstr("ps:0 has=CPU:0"), HasSubstr("soft_placement")));
  const auto soft = open(graph, {.soft_placement = true});
  EXPECT_EQ(soft->run(without_gpu, feeds).to_vector<float>(), (std::vector<float>{3, 3}));
  session->close();
  EXPECT_THAT(error_of([&] { session->run(y, feeds); }), HasSubstr("a session that is open"));
  const Variable variable(Tensor::scalar(1.0f), {.name = "mine"});
  EXPECT_THAT(error_of([&] { read_now(variable); }), HasSubstr("Session::run"));
  const Counter other;
  EXPECT_THAT(error_of([&] { soft->run(other.value); }), HasSubstr("the session's own graph"));
}

TEST(Session, NamesTheServerThatIsNotThere) {
  const std::string address = cohort::test::free_addresses(1)[0];
  EXPECT_THAT(error_within(3s, [&] { Session("grpc://" + address, SessionGraph(), {.start_timeout = 0.5}); }),
              AllOf(HasSubstr("Unavailable"), HasSubstr(address)));
  EXPECT_THAT(error_of([&] { Session("http://a", SessionGraph()); }), HasSubstr("target=http://a"));
}

TEST(Session, NamesTheTaskThatIsNotThere) {
  const std::vector<std::string> addresses = cohort::test::free_addresses(2);
  const ClusterSpec spec({{"ps", {addresses[0]}}, {"worker", {addresses[1]}}});
  const Server worker(spec, {.job_name = "worker"});
  const Counter counter({}, "/job:ps");
  Session session(worker.target(), counter.graph);
  EXPECT_THAT(error_within(5s, [&] { session.run(counter.value); }),
              AllOf(HasSubstr("Unavailable"), HasSubstr("ps:0")));
  const auto ps = std::make_unique<Server>(spec, ServerOptions{.job_name = "ps"});
  EXPECT_EQ(number_in(session.run(counter.value)), 0.0f);
}

TEST(Session, VariablesOfARestartedTaskAreLostAloud) {
  const std::vector<std::string> addresses = cohort::test::free_addresses(2);
  const ClusterSpec spec({{"ps", {addresses[0]}}, {"worker", {addresses[1]}}});
  const Server worker(spec, {.job_name = "worker", .transport = "grpc"});
  auto ps = std::make_unique<Server>(spec, ServerOptions{.job_name = "ps", .transport = "grpc"});
  const Counter counter({}, "/job:ps");
  Session session(worker.target(), counter.graph);
  session.run(counter.add, {{counter.step, Tensor::scalar(1.0f)}});
  ps.reset();
  EXPECT_THAT(error_of([&] { session.run(counter.add, {{counter.step, Tensor::scalar(1.0f)}}); }), HasSubstr("ps:0"));
  ps = std::make_unique<Server>(spec, ServerOptions{.job_name = "ps", .transport = "grpc"});
  EXPECT_THAT(error_of([&] {
                session.run(counter.add, {{counter.step, Tensor::scalar(1.0f)}});
              }),
              AllOf(HasSubstr("Aborted"), HasSubstr("ps:0"), HasSubstr("open another session")));
  EXPECT_THAT(error_of([&] { session.run(counter.value); }), HasSubstr("Aborted"));
  Session again(worker.target(), counter.graph);
  EXPECT_EQ(number_in(again.run(counter.value)), 0.0f);
}

// A variable of a ps meets a value of a worker's GPU, which a step adds to one that lies there.
TEST_P(Sessions, UseAGpu) {
  if (list_physical_devices("GPU").empty()) GTEST_SKIP() << "there is no GPU";
  const SessionGraph graph;
  auto building = graph.as_default();
  auto setter = device(replica_device_setter({.ps_tasks = 2, .worker_device = "/job:worker/task:1/gpu:0"}));
  const Variable weight(Tensor::full({2, 2}, 3.0f), {.name = "weight"});
  const Tensor x = graph.placeholder(float32, {2, 2});
  const Tensor product = ops::matmul(x, weight);
  Tensor total_value;
  Operation add;
  {
    auto here = device("/job:worker/task:1/gpu:0");
    Variable total(Tensor::full({2, 2}, 0.0f), {.name = "total"});
    add = graph.operation([&] { total.assign_add(product); });
    total_value = total.value();
  }
  const auto session = open(graph, {.log_device_placement = true});
  const Feeds feeds = {{x, Tensor::full({2, 2}, 1.0f)}};
  session->run(add, feeds);
  session->run(add, feeds);
  EXPECT_EQ(session->run(total_value).to_vector<float>(), std::vector<float>(4, 12.0f));
  EXPECT_THAT(session->placement(), Contains("mat_mul: (MatMul) /job:worker/replica:0/task:1/device:GPU:0"));
  EXPECT_THAT(session->placement(), Contains("total: (Variable) /job:worker/replica:0/task:1/device:GPU:0"));
}

TEST(Session, VariablesBeyondTheServersMemoryAreRefused) {
  const ClusterSpec spec = local_cluster_spec({{"ps", 1}});
  const Server server(spec, {.memory_limit = 1 << 20});
  const SessionGraph graph;
  auto building = graph.as_default();
  const Variable large(InitialValue::constant(1.0, {300'000}, float32), {.name = "large"});
  const Variable small(InitialValue::constant(1.0, {200'000}, float32), {.name = "small"});
  const Tensor sum_of_large = ops::sum(large), sum_of_small = ops::sum(small);
  {
    Session session(server.target(), graph, {.private_variables = true});
    EXPECT_THAT(error_of([&] { session.run(sum_of_large); }),
                AllOf(HasSubstr("ResourceExhausted"), HasSubstr("large"), HasSubstr("bytes=1200000")));
    EXPECT_EQ(number_in(session.run(sum_of_small)), 200'000.0f);
  }
  Session next(server.target(), graph, {.private_variables = true});  // what was private is gone
  EXPECT_EQ(number_in(next.run(sum_of_small)), 200'000.0f);
}

TEST(Session, OverMutualTlsAClientMayWhatAWorkerMayNot) {
  const cohort::test::ClusterCertificates certificates;
  const ClusterSpec spec = local_cluster_spec({{"ps", 1}, {"worker", 1}});
  const Server ps(spec, {.job_name = "ps", .transport = "grpc", .security = certificates.options_of("ps:0")});
  const Server worker(spec,
                      {.job_name = "worker", .transport = "grpc", .security = certificates.options_of("worker:0")});
  const Counter counter({}, "/job:ps");
  Session session(worker.target(), counter.graph,
                  {.transport = "grpc", .security = certificates.options_of("client:0")});
  session.run(counter.add, {{counter.step, Tensor::scalar(3.0f)}});
  EXPECT_EQ(number_in(session.run(counter.value)), 3.0f);
  EXPECT_THAT(error_of([&] {
                Session(ps.target(), counter.graph,
                        {.start_timeout = 1.0, .transport = "grpc", .security = certificates.options_of("worker:1")});
              }),
              AllOf(HasSubstr("PermissionDenied"), HasSubstr("worker:1")));
}

}  // namespace
}  // namespace cohort::distribute
