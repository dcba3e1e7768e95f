#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "cohort/distribute/cluster/free_ports.h"
#include "cohort/distribute/collective/communicator.h"
#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/collective/ranks.h"
#include "tests/support/patience.h"

namespace cohort::distribute::collective::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;
using TestClock = std::chrono::steady_clock;

std::vector<std::string> local_addresses(std::size_t count) {
  std::vector<std::string> addresses;
  for (const int port : free_ports(count)) addresses.push_back("127.0.0.1:" + std::to_string(port));
  return addresses;
}

class FailedCalls : public testing::TestWithParam<const char*> {
 protected:
  Ranks make(int size, std::chrono::milliseconds timeout = 60s) {
    return make_local_communicators(size, {.transport = GetParam(), .timeout = timeout});
  }
};

TEST_P(FailedCalls, DifferentSizesNameBothSides) {
  Ranks ranks = make(3);
  const std::vector<std::string> errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    std::vector<float> values(200);
    communicator.all_reduce(values.data(), communicator.rank() == 1 ? 200 : 100, DType::Float32);
    communicator.barrier();
  });
  EXPECT_THAT(errors, Each(AllOf(StartsWith("FailedPrecondition "), HasSubstr("400 bytes"), HasSubstr("800 bytes"),
                                 HasSubstr("worker:1"))));
}

TEST_P(FailedCalls, SoDoDifferentCallsAndTypes) {
  Ranks ranks = make(2);
  std::vector<std::string> errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    std::vector<double> values(100'000);
    if (communicator.rank() == 0) return communicator.all_reduce(values.data(), 100'000, DType::Float64);
    communicator.broadcast(values.data(), 100'000, DType::Float64, 0);
  });
  EXPECT_THAT(errors, Each(AllOf(StartsWith("FailedPrecondition Communicator 'worker:1'"),
                                 HasSubstr("here=broadcast of 800000"), HasSubstr("worker:0=all_reduce of 800000"))));
  ranks = make(2);
  errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    std::vector<float> values(10);
    communicator.all_reduce(values.data(), 10, communicator.rank() == 0 ? DType::Float32 : DType::Int32);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("float32"), HasSubstr("int32"))));
}

TEST_P(FailedCalls, WhoDoesNotComeIsNamedAtTheDeadline) {
  Ranks ranks = make(3, 300ms);
  const auto start = TestClock::now();
  const std::vector<std::string> errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    std::vector<float> values(1'000'000);
    if (communicator.rank() == 2) std::this_thread::sleep_for(1s);
    communicator.all_reduce(values.data(), 1'000'000, DType::Float32);
  });
  EXPECT_LT(TestClock::now() - start, cohort::test::patience(5s));
  EXPECT_THAT(errors, Each(StartsWith("DeadlineExceeded ")));
  // Rank 0 waits for its left neighbour, and whoever waits longer hears of it.
  EXPECT_THAT(errors[0], testing::AnyOf(HasSubstr("awaited=worker:2"), HasSubstr("awaited=worker:0")));
}

TEST_P(FailedCalls, AbortEndsTheWaitsOfAllRanks) {
  Ranks ranks = make(3);
  const auto start = TestClock::now();
  const std::vector<std::string> errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(50ms);
      communicator.abort("the data has ended");
    }
    communicator.barrier();
  });
  EXPECT_LT(TestClock::now() - start, cohort::test::patience(2s));
  EXPECT_THAT(errors, Each(testing::Eq("Aborted worker:1: the data has ended")));
  EXPECT_THAT(errors_of_ranks(ranks, [](Communicator& communicator) { communicator.barrier(); }),
              Each(testing::Eq("Aborted worker:1: the data has ended")));
}

TEST_P(FailedCalls, WhoHasLeftIsNotWaitedFor) {
  Ranks ranks = make(3);
  const std::vector<std::string> errors = errors_of_ranks(ranks, [&](Communicator& communicator) {
    communicator.barrier();
    if (communicator.rank() == 2) return ranks[2].reset();
    communicator.barrier();
  });
  EXPECT_THAT(errors[0], AllOf(StartsWith("Unavailable "), HasSubstr("worker:2")));
  EXPECT_THAT(errors[1], AllOf(StartsWith("Unavailable "), HasSubstr("worker:2")));
}

TEST_P(FailedCalls, WrongArgumentsEndNothing) {
  Ranks ranks = make(2);
  const std::vector<std::string> errors = errors_of_ranks(ranks, [](Communicator& communicator) {
    bool flag = true;
    EXPECT_THAT(cohort::test::error_of([&] { communicator.all_reduce(&flag, 1, DType::Bool); }),
                StartsWith("InvalidArgument all_reduce"));
    EXPECT_THAT(cohort::test::error_of([&] { communicator.broadcast(&flag, 1, DType::Bool, 2); }),
                StartsWith("InvalidArgument broadcast"));
    EXPECT_THAT(cohort::test::error_of([&] { communicator.broadcast(&flag, -1, DType::Bool, 0); }),
                StartsWith("InvalidArgument broadcast"));
    communicator.barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

INSTANTIATE_TEST_SUITE_P(Transports, FailedCalls, testing::Values("shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Meeting, NamesWhoIsMissing) {
  const std::vector<std::string> addresses = local_addresses(2);
  const auto start = TestClock::now();
  const std::string error = cohort::test::error_of([&] {
    make_communicator({.addresses = addresses, .rank = 0, .options = {.start_timeout = cohort::test::patience(500ms)}});
  });
  EXPECT_LT(TestClock::now() - start, cohort::test::patience(3s));
  EXPECT_THAT(error, AllOf(StartsWith("Unavailable Communicator 'worker:0'"), HasSubstr("1/2 joined"),
                           HasSubstr("worker:1 " + addresses[1]),
                           testing::AnyOf(HasSubstr("connection refused"), HasSubstr("no answer"))));
}

// What two ranks throw that are started like this.
std::vector<std::string> errors_of_starts(const CommunicatorSetUp& first, const CommunicatorSetUp& second) {
  std::vector<std::string> errors(2);
  std::thread other([&] { errors[1] = cohort::test::error_of([&] { make_communicator(second); }); });
  errors[0] = cohort::test::error_of([&] { make_communicator(first); });
  other.join();
  return errors;
}

TEST(Meeting, RanksThatWereToldOtherwiseRefuseEachOther) {
  const std::vector<std::string> addresses = local_addresses(3);
  const CommunicatorOptions options{.start_timeout = 5s};
  const std::vector<std::string> errors =
      errors_of_starts({.addresses = {addresses[0], addresses[1]}, .rank = 0, .options = options},
                       {.addresses = addresses, .rank = 1, .options = options});
  EXPECT_THAT(errors, Each(AllOf(StartsWith("InvalidArgument "), HasSubstr("number of workers"), HasSubstr("=2"),
                                 HasSubstr("=3"))));
  CommunicatorOptions elsewhere = options;
  elsewhere.job = "trainer";
  EXPECT_THAT(errors_of_starts({.addresses = {addresses[0], addresses[1]}, .rank = 0, .options = options},
                               {.addresses = {addresses[0], addresses[1]}, .rank = 1, .options = elsewhere}),
              Each(AllOf(StartsWith("InvalidArgument "), HasSubstr("same job"), HasSubstr("trainer"))));
}

TEST(Meeting, AnotherVersionIsRefused) {
  const std::vector<std::string> addresses = local_addresses(2);
  std::string error;
  std::thread here([&] {
    error = cohort::test::error_of([&] {
      make_communicator({.addresses = addresses, .rank = 0, .options = {.start_timeout = cohort::test::patience(10s)}});
    });
  });
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion + 1);
  hello.set_job_name("worker");
  hello.set_from("worker:1");
  Message request, reply;
  request.head = {.incarnation = 7, .closure = 1};
  write_request<Method::Hello>(request.head, hello, request);
  std::shared_ptr<rpc::Connection> way;
  while (!way) {
    try {
      way = rpc::connect({"worker:0", addresses[0]}, {.transport = "grpc"});
    } catch (const rpc::RpcError&) {
      std::this_thread::sleep_for(10ms);  // it does not listen so far
    }
  }
  const auto refused = AllOf(StartsWith("InvalidArgument "), HasSubstr("version of the protocol"),
                             HasSubstr("worker:1=" + std::to_string(kProtocolVersion + 1)),
                             HasSubstr("here=" + std::to_string(kProtocolVersion)));
  EXPECT_THAT(cohort::test::error_of([&] { way->open()->call(request, reply); }), refused);
  here.join();
  EXPECT_THAT(error, refused);
}

TEST(Meeting, TransportsAndRanksAreChecked) {
  EXPECT_THAT(cohort::test::error_of([] {
                make_communicator({.addresses = {"127.0.0.1:0"}, .rank = 0, .options = {.transport = "smoke"}});
              }),
              AllOf(StartsWith("InvalidArgument "), HasSubstr("transport=smoke")));
  EXPECT_THAT(cohort::test::error_of([] { make_communicator({.addresses = {"127.0.0.1:0"}, .rank = 1}); }),
              AllOf(StartsWith("InvalidArgument "), HasSubstr("rank=1")));
}

}  // namespace
}  // namespace cohort::distribute::collective::test
