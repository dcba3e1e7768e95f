#include "cohort/distribute/rpc/reliable_stream.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/fault_transport.h"
#include "tests/support/free_ports.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/tcp_proxy.h"

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
INSTANTIATE_TEST_SUITE_P(Transports, ReliableStreamTest, testing::Values("in_process", "shm", "tcp", "grpc"),
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
    ReliableStream stream(connection, {.silence = 10s});
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
  ReliableStream stream(connection, {.silence = 250ms});
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

// Breaks at every call until some time has passed; the peer is said to be silent for as long as the test wants.
class BreakingConnection : public Connection {
 public:
  BreakingConnection(std::chrono::milliseconds breaks, std::chrono::milliseconds silence, std::string reason)
      : until_(std::chrono::steady_clock::now() + breaks), silence_(silence), reason_(std::move(reason)) {}

  std::unique_ptr<Stream> open() override { return std::make_unique<BreakingStream>(*this); }
  bool alive() const override { return true; }
  std::uint64_t progress() const override { return 0; }
  std::optional<std::chrono::nanoseconds> silence() const override { return silence_; }
  const Peer& peer() const override { return peer_; }
  const char* transport() const override { return "a test's"; }

 private:
  class BreakingStream : public Stream {
   public:
    explicit BreakingStream(const BreakingConnection& connection) : connection_(connection) {}
    void send(const Message& request) override { sequence_ = request.head.sequence; }
    void receive(Message& reply) override {
      if (std::chrono::steady_clock::now() < connection_.until_) {
        throw RpcError(ErrorCode::Unavailable, connection_.peer_, 0, Method::Echo, {}, connection_.reason_);
      }
      reply.head.sequence = sequence_;
    }
    void cancel() override {}
    const char* transport() const override { return connection_.transport(); }

   private:
    const BreakingConnection& connection_;
    std::uint64_t sequence_ = 0;
  };
  const Peer peer_{"ps:0", "127.0.0.1:1"};
  const std::chrono::steady_clock::time_point until_;
  const std::chrono::milliseconds silence_;
  const std::string reason_;
};

std::chrono::milliseconds time_until_it_gives_up(std::shared_ptr<Connection> connection, const RetryBudget& budget) {
  ReliableStream stream(std::move(connection), budget);
  Message request, reply;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(stream.call(request, reply), RpcError);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

TEST(ReliableStream, ABudgetCountsSilenceAndNotTheTimeACallTakes) {
  ReliableStream stream(std::make_shared<BreakingConnection>(400ms, 5ms, "reset"), {.silence = 50ms});
  Message request, reply;
  stream.call(request, reply);
  EXPECT_GT(stream.repeats(), 3u);
  const auto silent = std::make_shared<BreakingConnection>(60s, 1h, "reset");
  EXPECT_LT(time_until_it_gives_up(silent, {.silence = 100ms}), 2s);
}

TEST(ReliableStream, WhoRefusesConnectionsIsGivenUpSooner) {
  const auto refusing = std::make_shared<BreakingConnection>(60s, 0ms, "connection refused");
  const auto time = time_until_it_gives_up(refusing, {.silence = 60s, .refused = 100ms});
  EXPECT_GE(time, 100ms);
  EXPECT_LT(time, 5s);
}

TEST(ReliableStream, GivesUpWhenNobodyWantsTheReply) {
  const auto breaking = std::make_shared<BreakingConnection>(60s, 0ms, "reset");
  EXPECT_LT(time_until_it_gives_up(breaking, {.silence = 60s, .given_up = [] { return true; }}), 5s);
}

TEST(ReliableStream, ConnectsWithTheFirstRequest) {
  const std::string address = cohort::test::free_addresses(1).front();
  Adder adder;
  ReliableStream stream({"ps:0", address}, {.transport = "grpc"}, {.refused = 10s});
  std::thread start([&] {
    std::this_thread::sleep_for(200ms);
    Listener listener(address, adder, "ps:0");
    std::this_thread::sleep_for(2s);
  });
  Message request, reply;
  request.parts = {Tensor::scalar(3, DType::Int32)};
  stream.call(request, reply);
  EXPECT_EQ(adder.sum_, 3);
  start.join();
}

TEST(ReliableStream, ReachesAServerThatComesBack) {
  Adder adder;
  auto listener = std::make_unique<Listener>("127.0.0.1:0", adder, "ps:0");
  const std::string address = listener->address();
  ReliableStream stream(connect({"ps:0", address}, {.transport = "grpc"}), {.silence = 10s});
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

// A large message that is cut off on its way, or whose reply is, comes whole and counts once.
TEST(ReliableStream, ALargeMessageSurvivesCutsInTheMiddle) {
  const int cuts = cohort::test::kills_wanted(4);
  const std::int64_t values = (cuts > 4 ? 256 : 32) << 18;
  std::mutex mutex;
  std::set<std::uint64_t> seen;
  rpc::test::FunctionService service([&](const Message& request, Message& reply) {
    std::lock_guard lock(mutex);
    seen.insert(request.head.sequence);
    reply.parts = request.parts;
  });
  Listener listener("127.0.0.1:0", service, "ps:0");
  cohort::test::TcpProxy proxy(listener.address(), 1 << 20);
  ReliableStream stream({"ps:0", proxy.address()}, {.transport = "grpc"}, {.silence = 10s});
  Message request, reply;
  request.parts = {Tensor::full({values}, 2.0)};
  stream.call(request, reply);
  const auto start = std::chrono::steady_clock::now();
  stream.call(request, reply);
  const auto undisturbed = std::chrono::steady_clock::now() - start;
  for (int cut = 0; cut < cuts; ++cut) {
    std::thread cutter([&] {
      std::this_thread::sleep_for(undisturbed * (1 + cut % 4) / 5);
      proxy.cut();
    });
    stream.call(request, reply);
    cutter.join();
    ASSERT_EQ(reply.parts.at(0).shape(), Shape({values}));
    std::lock_guard lock(mutex);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(cut) + 3);
  }
  EXPECT_GE(stream.repeats(), 1u);
}

TEST(ReliableStream, OverlapsRequestsToSeveralTasks) {
  std::atomic<int> begun = 0;
  rpc::test::FunctionService both_at_once([&](const Message&, Message&) {
    ++begun;
    EXPECT_TRUE(rpc::test::comes_true([&] { return begun == 2; }, 5s));
  });
  Listener a("127.0.0.1:0", both_at_once, "ps:0"), b("127.0.0.1:0", both_at_once, "ps:1");
  ReliableStream to_a(connect({"ps:0", a.address()}, {.transport = "grpc"}), {.silence = 10s});
  ReliableStream to_b(connect({"ps:1", b.address()}, {.transport = "grpc"}), {.silence = 10s});
  Message request, reply;
  to_a.send(request);
  EXPECT_THROW(to_a.send(request), Error);
  to_b.send(request);
  to_a.receive(reply);
  to_b.receive(reply);
}

TEST(ReliableStream, IsCancelledWhileItWaitsForAServer) {
  rpc::test::PeerProcess peer;
  auto connection = connect({"worker:1", peer.address()});
  ReliableStream stream(connection, {.silence = 60s});
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
