#include "cohort/distribute/rpc/reliable_stream.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <mutex>
#include <set>
#include <thread>

#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/fault_transport.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using cohort::test::fault_transport;
using cohort::test::FaultCounts;
using cohort::test::Faults;

// Adds what it is sent, once per sequence, and knows how often it was asked.
class Adder : public Service {
 public:
  void handle(const Message& request, Message& reply) override {
    std::lock_guard lock(mutex_);
    ++asked_;
    if (request.head.sequence < newest_) ++old_;
    newest_ = std::max(newest_, request.head.sequence);
    const int value = request.parts[0].item<int>();
    if (value < 0)
      throw Error(ErrorCode::OutOfRange, "Adder: only numbers from 0 on. Received: value=" + std::to_string(value));
    if (seen_.insert(request.head.sequence).second) sum_ += value;
    reply.parts = {Tensor::scalar(value + 1, DType::Int32)};
  }
  std::int64_t sum_ = 0;
  int asked_ = 0, old_ = 0;

 private:
  std::mutex mutex_;
  std::set<std::uint64_t> seen_;
  std::uint64_t newest_ = 0;
};

class ReliableStreamTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, ReliableStreamTest, testing::Values("in_process", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ReliableStreamTest, CountsOnceWhateverTheNetworkDoes) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Adder adder;
    Listener listener("127.0.0.1:0", adder, "ps:0");
    auto counts = std::make_shared<FaultCounts>();
    const Faults faults{.seed = seed,
                        .drop_request = 0.1,
                        .drop_reply = 0.1,
                        .duplicate = 0.1,
                        .late = 0.1,
                        .disconnect = 0.02,
                        .timeout = 1ms};
    auto connection =
        connect({"ps:0", listener.address()}, {.transport = GetParam(), .wrap = fault_transport(faults, counts)});
    ReliableStream stream(connection, 10s);
    Message request, reply;
    std::int64_t expected = 0;
    Tensor value = Tensor::empty(DType::Int32, {}, cpu());
    for (int i = 0; i < 400; ++i) {
      if (i % 50 == 49) {
        request.parts = {Tensor::scalar(-i, DType::Int32)};
        try {
          stream.call(request, reply);
          ADD_FAILURE();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
          EXPECT_NE(std::string(error.what()).find("value=-" + std::to_string(i)), std::string::npos) << error.what();
        }
        continue;
      }
      // Its memory is used again as soon as the reply is there, as a worker's gradients are.
      *static_cast<std::int32_t*>(value.raw()) = i;
      request.parts = {value};
      stream.call(request, reply);
      expected += i;
      ASSERT_EQ(reply.parts[0].item<int>(), i + 1);
    }
    EXPECT_EQ(adder.sum_, expected);
    EXPECT_GT(adder.asked_, 400);
    EXPECT_GT(adder.old_, 0);
    EXPECT_GT(stream.repeats(), 20u);
    EXPECT_GT(counts->dropped_requests, 0);
    EXPECT_GT(counts->dropped_replies, 0);
    EXPECT_GT(counts->duplicates, 0);
    EXPECT_GT(counts->late, 0);
    EXPECT_GT(counts->disconnects, 0);
  }
}

TEST_P(ReliableStreamTest, GivesUpInTheEnd) {
  Adder adder;
  Listener listener("127.0.0.1:0", adder, "ps:0");
  auto connection = connect({"ps:0", listener.address()},
                            {.transport = GetParam(), .wrap = fault_transport({.drop_reply = 1.0, .timeout = 5ms})});
  ReliableStream stream(connection, 50ms);
  Message request, reply;
  request.parts = {Tensor::scalar(3, DType::Int32)};
  try {
    stream.call(request, reply);
    FAIL();
  } catch (const RpcError& error) {
    EXPECT_EQ(error.code(), ErrorCode::DeadlineExceeded);
  }
  EXPECT_EQ(adder.sum_, 3);
  EXPECT_GT(adder.asked_, 2);
}

TEST(ReliableStream, ReachesAServerThatComesBack) {
  Adder adder;
  auto listener = std::make_unique<Listener>("127.0.0.1:0", adder, "ps:0");
  const std::string address = listener->address();
  ReliableStream stream(connect({"ps:0", address}, {.transport = "grpc"}), 10s);
  Message request, reply;
  request.parts = {Tensor::scalar(3, DType::Int32)};
  stream.call(request, reply);
  listener.reset();
  std::thread restart([&] {
    std::this_thread::sleep_for(200ms);
    listener = std::make_unique<Listener>(address, adder, "ps:0");
  });
  stream.call(request, reply);
  restart.join();
  EXPECT_EQ(adder.sum_, 6);
  EXPECT_GE(stream.repeats(), 1u);
}

TEST(ReliableStream, OverlapsRequestsToSeveralTasks) {
  rpc::test::FunctionService slow([](const Message&, Message&) { std::this_thread::sleep_for(100ms); });
  Listener a("127.0.0.1:0", slow, "ps:0"), b("127.0.0.1:0", slow, "ps:1");
  ReliableStream to_a(connect({"ps:0", a.address()}, {.transport = "grpc"}), 10s);
  ReliableStream to_b(connect({"ps:1", b.address()}, {.transport = "grpc"}), 10s);
  Message request, reply;
  const auto start = std::chrono::steady_clock::now();
  to_a.send(request);
  EXPECT_THROW(to_a.send(request), Error);
  to_b.send(request);
  to_a.receive(reply);
  to_b.receive(reply);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 180ms);
}

TEST(ReliableStream, IsCancelledWhileItWaitsForAServer) {
  rpc::test::PeerProcess peer;
  auto connection = connect({"worker:1", peer.address()});
  ReliableStream stream(connection, 60s);
  Message request, reply;
  stream.call(request, reply);
  peer.signal(SIGKILL);
  std::thread canceller([&] {
    std::this_thread::sleep_for(100ms);
    stream.cancel();
  });
  try {
    stream.call(request, reply);
    ADD_FAILURE();
  } catch (const RpcError& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
  canceller.join();
}

}  // namespace
}  // namespace cohort::distribute::rpc
