// Connections between processes that cannot be made, break, or fall silent.
#include <gtest/gtest.h>
#include <signal.h>

#include <latch>
#include <thread>

#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/peer_process.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/patience.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool contains(const std::exception& error, const std::string& words) {
  return std::string(error.what()).find(words) != std::string::npos;
}

TEST(Address, IsTakenApartAndJudged) {
  EXPECT_EQ(parse_address("localhost:80", "t").numeric(), "127.0.0.1:80");
  EXPECT_EQ(parse_address("[::1]:80", "t").to_string(), "[::1]:80");
  EXPECT_EQ(parse_address("[::1]:80", "t").host, "::1");
  for (const char* good : {"127.0.0.1:1", "127.8.0.1:1", "localhost:0", "[::1]:65535"}) {
    EXPECT_TRUE(parse_address(good, "t").is_loopback()) << good;
  }
  for (const char* far : {"0.0.0.0:1", "10.0.0.1:1", "example.org:1", "[::]:1", "[2001:db8::1]:1"}) {
    EXPECT_FALSE(parse_address(far, "t").is_loopback()) << far;
  }
  for (const char* bad : {"", ":", "host", "host:", ":1", "host:x", "host:70000", "host:-1", "::1:80", "[]:1"}) {
    EXPECT_THROW(parse_address(bad, "t"), Error) << bad;
  }
}

TEST(Listener, NamesAnAddressThatIsTaken) {
  rpc::test::EchoService service;
  Listener first("127.0.0.1:0", service, "ps:0");
  try {
    Listener second(first.address(), service, "ps:1");
    FAIL() << "two servers share " << first.address();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::AlreadyExists);
    EXPECT_TRUE(contains(error, first.address()) && contains(error, "in use")) << error.what();
  }
  const std::string address = first.address();
  first.stop();
  Listener again(address, service, "ps:0");
}

TEST(Listener, StaysOnThisMachine) {
  rpc::test::EchoService service;
  for (const char* address : {"0.0.0.0:0", "10.1.2.3:0", "example.org:0", "[::]:0"}) {
    try {
      Listener listener(address, service, "ps:0");
      FAIL() << address;
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error, "with security") && contains(error, address)) << error.what();
    }
  }
}

TEST(Connect, SaysWhyNobodyAnswers) {
  std::string address;
  {
    rpc::test::EchoService service;
    address = Listener("127.0.0.1:0", service, "ps:0").address();
  }
  const auto start = Clock::now();
  try {
    connect({"ps:0", address});
    FAIL();
  } catch (const RpcError& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unavailable);
    EXPECT_TRUE(contains(error, "connection refused") && contains(error, "ps:0 at " + address)) << error.what();
    EXPECT_LT(Clock::now() - start, cohort::test::patience(900ms));
  }
  try {
    connect({"ps:0", "no-such-name.invalid:2222"}, {.security = std::make_shared<Security>()});
    FAIL();
  } catch (const RpcError& error) {
    EXPECT_TRUE(contains(error, "name not found") || contains(error, "no answer")) << error.what();
  }
}

TEST(Connect, WaitsForASilentProcessOnlySoLong) {
  rpc::test::PeerProcess peer;
  peer.signal(SIGSTOP);
  const auto start = Clock::now();
  try {
    connect({"worker:1", peer.address()}, {.connect_timeout = 200ms});
    FAIL();
  } catch (const RpcError& error) {
    EXPECT_TRUE(contains(error, "no answer")) << error.what();
    EXPECT_LT(Clock::now() - start, 2s);
    EXPECT_GE(error.elapsed(), 190ms);
  }
}

class ConnectionTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Transports, ConnectionTest, testing::Values("shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ConnectionTest, ToldOfAKilledProcessAtOnce) {
  rpc::test::PeerProcess peer;
  auto connection =
      connect({"worker:1", peer.address()}, {.transport = GetParam(), .heartbeat = 20s, .dead_after = 60s});
  std::vector<std::thread> callers;
  std::latch started(2);
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      auto stream = connection->open();
      Message request, reply;
      stream->call(request, reply);
      request.parts = {Tensor::full({30'000'000}, 1)};  // many a round trip: it is killed in the middle of one
      started.count_down();
      try {
        while (true) stream->call(request, reply);
      } catch (const RpcError& error) {
        EXPECT_EQ(error.code(), ErrorCode::Unavailable) << error.what();
      }
    });
  }
  started.wait();
  std::this_thread::sleep_for(50ms);
  const auto start = Clock::now();
  peer.signal(SIGKILL);
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_THROW(connection->open(), RpcError);
}

TEST_P(ConnectionTest, ToldOfASilentProcessAndUsableWhenItWakes) {
  rpc::test::PeerProcess peer;
  auto connection = connect({"worker:1", peer.address()},
                            {.transport = GetParam(), .connect_timeout = 5s, .heartbeat = 50ms, .dead_after = 400ms});
  auto stream = connection->open(), other = connection->open();
  Message request, reply;
  request.head.method = Method::Exchange;
  request.head.incarnation = 17;
  stream->call(request, reply);
  other->call(request, reply);
  peer.signal(SIGSTOP);
  const auto start = Clock::now();
  for (Stream* each : {stream.get(), other.get()}) {
    try {
      each->call(request, reply);
      FAIL();
    } catch (const RpcError& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unavailable);
      EXPECT_TRUE(contains(error, "no sign of life")) << error.what();
      EXPECT_EQ(error.call(), Method::Exchange);
      EXPECT_EQ(error.incarnation(), 17u);
      EXPECT_EQ(error.peer().address, peer.address());
    }
  }
  EXPECT_GE(Clock::now() - start, 300ms);
  EXPECT_LT(Clock::now() - start, 4s);
  peer.signal(SIGCONT);
  connection->open()->call(request, reply);
}

TEST_P(ConnectionTest, HoldsWhileNobodyTalks) {
  rpc::test::PeerProcess peer;
  auto connection =
      connect({"worker:1", peer.address()}, {.transport = GetParam(), .heartbeat = 20ms, .dead_after = 200ms});
  auto stream = connection->open();
  std::this_thread::sleep_for(700ms);
  Message request, reply;
  stream->call(request, reply);
}

}  // namespace
}  // namespace cohort::distribute::rpc
