// What goes wrong while a chief reaches its cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/distribute.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/error_within.h"
#include "tests/support/silent_socket.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using cohort::test::error_within;
using cohort::test::SilentSocket;
using testing::AllOf;
using testing::HasSubstr;

class StartErrors : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Server> serve(const ClusterSpec& spec, const std::string& job, std::int64_t index) const {
    return std::make_unique<Server>(spec, ServerOptions{.job_name = job, .task_index = index, .transport = GetParam()});
  }
  std::string error_of_start(const ClusterSpec& spec, double start_timeout = 30.0,
                             std::chrono::milliseconds limit = 1s) const {
    return error_within(limit, [&] {
      ParameterServerStrategy(SimpleClusterResolver(spec), {.start_timeout = start_timeout, .transport = GetParam()});
    });
  }
};

TEST_P(StartErrors, AClusterNeedsBothKindsOfTasks) {
  EXPECT_THAT(error_of_start(local_cluster_spec({{"worker", 1}})),
              HasSubstr("InvalidArgument ParameterServerStrategy: the cluster must have at least one ps"));
  EXPECT_THAT(error_of_start(local_cluster_spec({{"ps", 1}})), HasSubstr("at least one worker"));
  EXPECT_THAT(error_of_start(ClusterSpec()), HasSubstr("InvalidArgument ParameterServerStrategy"));
}

TEST_P(StartErrors, AMissingTaskIsNamedInATable) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 2}, {"ps", 1}});
  const auto ps = serve(spec, "ps", 0), worker = serve(spec, "worker", 0);
  const std::string missing = "worker:1 " + spec.task_address("worker", 1);
  EXPECT_THAT(error_of_start(spec, 0.3, 1500ms),
              AllOf(HasSubstr("Unavailable ParameterServerStrategy: every task of the cluster must answer within "
                              "start_timeout"),
                    HasSubstr("start_timeout in seconds=0.3"),
                    HasSubstr("2/3 joined, missing " + missing + ", connection refused")));
}

TEST_P(StartErrors, EveryMissingTaskIsNamed) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 2}, {"ps", 2}});
  const auto ps = serve(spec, "ps", 0);
  const std::string error = error_of_start(spec, 0.2, 1500ms);
  EXPECT_THAT(error, HasSubstr("1/4 joined, missing ps:1 "));
  EXPECT_THAT(error, AllOf(HasSubstr("worker:0 "), HasSubstr("worker:1 ")));
}

TEST_P(StartErrors, ATaskMayComeLate) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const auto ps = serve(spec, "ps", 0);
  std::unique_ptr<Server> worker;
  std::thread late([&] {
    std::this_thread::sleep_for(300ms);
    worker = serve(spec, "worker", 0);
  });
  EXPECT_EQ(error_of_start(spec, 10.0, 5s), "");
  late.join();
}

// Somebody else's program at the address, or a task that hangs.
TEST_P(StartErrors, AnAddressThatNeverAnswersIsNotWaitedForLonger) {
  SilentSocket silent;
  const ClusterSpec spec(
      {{"worker", {silent.address()}}, {"ps", {local_cluster_spec({{"ps", 1}}).task_address("ps", 0)}}});
  const auto ps = serve(spec, "ps", 0);
  EXPECT_THAT(error_of_start(spec, 0.5, 2500ms), AllOf(HasSubstr("1/2 joined, missing worker:0 " + silent.address()),
                                                       HasSubstr("start_timeout in seconds=0.5")));
}

TEST_P(StartErrors, ATaskOfAnotherJobIsRefusedAtOnce) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const auto ps = serve(spec, "ps", 0), worker = serve(spec, "worker", 0);
  const ClusterSpec swapped({{"worker", {spec.task_address("ps", 0)}}, {"ps", {spec.task_address("worker", 0)}}});
  EXPECT_THAT(error_of_start(swapped),
              AllOf(HasSubstr("FailedPrecondition ps:0: worker:0: a caller that looks for this task is expected"),
                    HasSubstr("asked for=ps:0"), HasSubstr("Give every task the same cluster")));
}

TEST_P(StartErrors, TasksMustAgreeOnTheParameterServers) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 2}});
  const ClusterSpec one({{"worker", {spec.task_address("worker", 0)}}, {"ps", {spec.task_address("ps", 0)}}});
  const auto ps = serve(one, "ps", 0), second = serve(spec, "ps", 1), worker = serve(spec, "worker", 0);
  EXPECT_THAT(error_of_start(spec), AllOf(HasSubstr("FailedPrecondition ps:0"),
                                          HasSubstr("a caller with the same parameter servers is expected"),
                                          HasSubstr("ps here=[" + spec.task_address("ps", 0) + "]")));
}

TEST_P(StartErrors, WorkersMayDifferInWhatTheyKnowOfWorkers) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 2}, {"ps", 1}});
  const ClusterSpec one({{"worker", {spec.task_address("worker", 0)}}, {"ps", {spec.task_address("ps", 0)}}});
  const auto ps = serve(one, "ps", 0), first = serve(one, "worker", 0), second = serve(spec, "worker", 1);
  EXPECT_EQ(error_of_start(spec), "");
}

TEST_P(StartErrors, ATaskThatSpeaksAnotherProtocolIsRefusedAtOnce) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const auto ps = serve(spec, "ps", 0);
  rpc::test::FunctionService older([](const Message&, Message&) {
    throw failed_precondition("worker:0", "a caller that speaks the same protocol is expected", {{"protocol", 7}});
  });
  const rpc::Listener listener(spec.task_address("worker", 0), older, "worker:0");
  EXPECT_THAT(error_of_start(spec), AllOf(HasSubstr("FailedPrecondition worker:0"), HasSubstr("the same protocol")));
}

TEST_P(StartErrors, AParameterServerDoesNotLead) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  EXPECT_THAT(error_within(1s,
                           [&] {
                             ParameterServerStrategy(SimpleClusterResolver(spec, {.task_type = "ps", .task_id = 0}),
                                                     {.transport = GetParam()});
                           }),
              AllOf(HasSubstr("FailedPrecondition"), HasSubstr("task_type=ps"), HasSubstr("Server(resolver).join()")));
}

TEST(StartOptions, AreChecked) {
  const SimpleClusterResolver resolver(local_cluster_spec({{"worker", 1}, {"ps", 1}}));
  EXPECT_THAT(
      error_of([&] { ParameterServerStrategy(resolver, {.transport = "pigeon"}); }),
      HasSubstr("InvalidArgument ParameterServerStrategy: the transport 'auto', 'shm', 'tcp' or 'grpc' is expected"));
  EXPECT_THAT(error_of([&] { ParameterServerStrategy(resolver, {.placement = "random"}); }),
              HasSubstr("placement=random"));
  EXPECT_THAT(error_of([&] { ParameterServerStrategy(resolver, {.start_timeout = 0.0}); }),
              HasSubstr("start_timeout=0"));
}

// The tasks that did answer are free for the next chief.
TEST_P(StartErrors, AChiefThatGaveUpMayTryAgain) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const auto ps = serve(spec, "ps", 0);
  EXPECT_THAT(error_of_start(spec, 0.1, 1s), HasSubstr("1/2 joined"));
  const auto worker = serve(spec, "worker", 0);
  EXPECT_EQ(error_of_start(spec), "");
}

INSTANTIATE_TEST_SUITE_P(Transports, StartErrors, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort::distribute
