// What every transport must do, run over each of them.
#include "cohort/distribute/rpc/transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <numeric>
#include <thread>

#include "tests/distribute/rpc/test_services.h"
#include "tests/support/error_of.h"
#include "tests/support/patience.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;

class TransportTest : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<Connection> connect_to(const Listener& listener) {
    return connect({"worker:1", listener.address()}, {.transport = GetParam()});
  }
};

INSTANTIATE_TEST_SUITE_P(Transports, TransportTest, testing::Values("in_process", "shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.defined(), b.defined());
  if (!a.defined()) return;
  ASSERT_EQ(a.spec(), b.spec());
  if (a.dtype() == DType::String) {
    EXPECT_EQ(a.to_strings(), b.to_strings());
  } else {
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << a.spec();
  }
}

TEST_P(TransportTest, GivesBackEveryFieldAndEveryType) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  request.head = {Method::Echo, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  request.meta = std::string("with \0 inside", 13);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_plain(dtype)) continue;
    request.parts.push_back(Tensor::full({2, 3}, 1, dtype));
    request.parts.push_back(Tensor::full({}, 1, dtype));
    request.parts.push_back(Tensor::empty(dtype, {0, 3}));
  }
  request.parts.push_back(Tensor::of_strings({"one", "", std::string(100'000, 'x')}, {3, 1}));
  request.parts.push_back(Tensor::of_strings({}, {0}));
  request.parts.emplace_back();
  request.parts.push_back(Tensor::full({1, 1, 1, 1, 1, 1, 1, 2}, 3));
  for (int repeat = 0; repeat < 3; ++repeat) {
    stream->call(request, reply);
    EXPECT_EQ(std::memcmp(&reply.head, &request.head, sizeof(Head)), 0);
    EXPECT_EQ(reply.meta, request.meta);
    ASSERT_EQ(reply.parts.size(), request.parts.size());
    for (std::size_t i = 0; i < reply.parts.size(); ++i) expect_same(reply.parts[i], request.parts[i]);
  }
  for (const Tensor& part : reply.parts) {
    if (part.defined() && is_plain(part.dtype())) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.raw()) % 64, 0u);
    }
  }
}

TEST_P(TransportTest, CarriesMessagesOfNoParts) {
  rpc::test::EchoService service;
  Listener listener("localhost:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  reply.meta = "old";
  reply.parts = {Tensor::scalar(1)};
  stream->call(request, reply);
  EXPECT_EQ(reply.meta, "");
  EXPECT_TRUE(reply.parts.empty());
}

TEST_P(TransportTest, CarriesPartsOfAnySize) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  // Around the sizes where parts are packed and chunks are cut, then more than any buffer on the way holds.
  const int most = 314'572'800 / (cohort::test::kTimesSlower * cohort::test::kTimesSlower);
  for (const std::int64_t bytes : {1, 63, 64, 8191, 8192, 8193, 1'048'000, 1'048'576, 1'049'000, 5'000'001, most}) {
    Tensor part = Tensor::empty(DType::UInt8, {bytes});
    auto* values = static_cast<std::uint8_t*>(part.raw());
    for (std::int64_t i = 0; i < bytes; ++i) values[i] = static_cast<std::uint8_t>(i * 31 + (i >> 12));
    request.meta.assign(static_cast<std::size_t>(bytes % 3000), 'm');
    request.parts = {part, Tensor::scalar(7), part.rows(bytes / 2, bytes - bytes / 2)};
    stream->call(request, reply);
    ASSERT_EQ(reply.parts.size(), 3u) << bytes;
    for (int i = 0; i < 3; ++i) expect_same(reply.parts[i], request.parts[i]);
    EXPECT_EQ(reply.meta, request.meta);
  }
}

TEST_P(TransportTest, CarriesMetaLargerThanAChunk) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  request.meta.assign(3'500'000, 'g');
  request.parts.assign(20'000, Tensor::scalar(3));
  stream->call(request, reply);
  EXPECT_EQ(reply.meta, request.meta);
  ASSERT_EQ(reply.parts.size(), request.parts.size());
  EXPECT_EQ(reply.parts.back().item<float>(), 3.0f);
}

TEST_P(TransportTest, KeepsWhatTheServiceThrew) {
  rpc::test::FunctionService service([](const Message& request, Message&) {
    if (request.meta == "std") throw std::runtime_error("plain");
    throw Error(ErrorCode::OutOfRange, "Dense 'd': too far");
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  try {
    stream->call(request, reply);
    FAIL();
  } catch (const RpcError&) {
    FAIL() << "the call did come through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
    EXPECT_STREQ(error.what(), "worker:1: Dense 'd': too far");
  }
  request.meta = "std";
  try {
    stream->call(request, reply);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_STREQ(error.what(), "worker:1: plain");
  }
}

TEST_P(TransportTest, AnswersRequestsInOrderWhileMoreAreSent) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  // Far more than flow control lets through: both sides have to write and read at once.
  const Tensor large = Tensor::full({4'000'000}, 1);
  for (std::uint64_t i = 0; i < 6; ++i) {
    Message request;
    request.head.sequence = i;
    request.parts = {large};
    stream->send(request);
  }
  Message reply;
  for (std::uint64_t i = 0; i < 6; ++i) {
    stream->receive(reply);
    EXPECT_EQ(reply.head.sequence, i);
    ASSERT_EQ(reply.parts.size(), 1u);
    EXPECT_EQ(reply.parts[0].shape(), large.shape());
  }
  EXPECT_THROW(stream->receive(reply), Error);
}

TEST_P(TransportTest, RefusesPartsThatCannotTravelAndGoesOn) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  Message request, reply;
  request.parts = {Tensor::symbolic({DType::Float32, {1}}, {1, 0, 0})};
  if (std::string(GetParam()) != "in_process") {
    EXPECT_THROW(stream->send(request), Error);
  }
  request.parts.clear();
  stream->call(request, reply);
}

TEST_P(TransportTest, ServesManyStreamsAtOnce) {
  std::atomic<int> sum = 0;
  rpc::test::FunctionService service([&](const Message& request, Message& reply) {
    sum += request.parts[0].item<int>();
    reply.parts = request.parts;
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto connection = connect_to(listener);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto stream = connection->open();
      Message request, reply;
      for (int i = 0; i < 50; ++i) {
        request.parts = {Tensor::scalar(t, DType::Int32), Tensor::full({5000 * (i % 3)}, t)};
        stream->call(request, reply);
        ASSERT_EQ(reply.parts[0].item<int>(), t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 50 * 28);
}

TEST_P(TransportTest, StopWaitsForWhatIsHandledAndTurnsTheRestAway) {
  std::promise<void> entered;
  std::atomic<bool> left = false;
  rpc::test::FunctionService service([&](const Message&, Message&) {
    entered.set_value();
    std::this_thread::sleep_for(100ms);
    left = true;
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto connection = connect_to(listener);
  std::thread caller([&] {
    auto stream = connection->open();
    Message request, reply;
    try {
      stream->call(request, reply);
    } catch (const RpcError& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unavailable);
    }
    try {
      stream->call(request, reply);
      ADD_FAILURE() << "a stopped server answered";
    } catch (const RpcError& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unavailable);
      EXPECT_EQ(error.peer().task, "worker:1");
      EXPECT_NE(std::string(error.what()).find("worker:1 at 127.0.0.1"), std::string::npos) << error.what();
    }
  });
  entered.get_future().wait();
  listener.stop();
  EXPECT_TRUE(left);
  caller.join();
  listener.stop();
  Message request, reply;
  EXPECT_THROW(connection->open()->call(request, reply), RpcError);
}

TEST_P(TransportTest, AStopMayWaitForAnswers) {
  std::promise<void> entered;
  std::atomic<bool> leaves = false;
  rpc::test::FunctionService service([&](const Message&, Message& reply) {
    entered.set_value();
    while (!leaves) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);
    reply.parts = {Tensor::full({1'000}, 1)};
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto connection = connect_to(listener);
  std::thread caller([&] {
    Message request, reply;
    EXPECT_EQ(error_of([&] { connection->open()->call(request, reply); }), "");
  });
  entered.get_future().wait();
  if (std::string(GetParam()) != "in_process") {
    const auto start = std::chrono::steady_clock::now();
    listener.await_answers(start + 50ms);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms) << "it is not answered";
  }
  leaves = true;
  listener.await_answers(std::chrono::steady_clock::now() + cohort::test::patience(10s));
  listener.stop();
  caller.join();
}

TEST_P(TransportTest, CancelEndsAWait) {
  std::promise<void> entered;
  std::promise<void> release;
  rpc::test::FunctionService service([&](const Message&, Message&) {
    entered.set_value();
    release.get_future().wait();
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto stream = connect_to(listener)->open();
  std::thread caller([&] {
    Message request, reply;
    request.head.method = Method::RunClosure;
    try {
      stream->call(request, reply);
      ADD_FAILURE();
    } catch (const RpcError& error) {
      EXPECT_EQ(error.code(), ErrorCode::Cancelled);
      EXPECT_EQ(error.call(), Method::RunClosure);
    }
  });
  entered.get_future().wait();
  stream->cancel();
  if (std::string(GetParam()) != "in_process") caller.join();  // in process the handler is on the caller's own thread
  release.set_value();
  if (caller.joinable()) caller.join();
}

TEST_P(TransportTest, TellsHowFarTheTaskIsAndWhenItIsGone) {
  rpc::test::BusyService service;
  Listener listener("127.0.0.1:0", service, "worker:1");
  auto connection =
      connect({"worker:1", listener.address()}, {.transport = GetParam(), .heartbeat = 20ms, .dead_after = 30s});
  for (const std::uint64_t steps : {std::uint64_t{7}, (std::uint64_t{1} << 63) + 1}) {
    service.steps = steps;
    EXPECT_TRUE(rpc::test::comes_true([&] { return connection->progress() == steps; }, 5s)) << connection->progress();
  }
  EXPECT_TRUE(connection->alive());
  // Nobody calls, so nobody else would find out.
  listener.stop();
  EXPECT_TRUE(rpc::test::comes_true([&] { return !connection->alive(); }, 1s));
  EXPECT_EQ(connection->progress(), (std::uint64_t{1} << 63) + 1);
  Listener again(listener.address(), service, "worker:1");
  connection = connect({"worker:1", again.address()}, {.transport = GetParam()});
  EXPECT_TRUE(connection->alive());
}

TEST(Transport, FindsServersOfThisProcessByItself) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0");
  EXPECT_STREQ(connect({"ps:0", listener.address()})->transport(), "in process");
  std::string by_name = listener.address();
  by_name.replace(0, by_name.find(':'), "localhost");
  EXPECT_STREQ(connect({"ps:0", by_name})->transport(), "in process");
  EXPECT_STREQ(connect({"ps:0", by_name}, {.transport = "grpc"})->transport(), "gRPC");
  const std::string address = listener.address();
  listener.stop();
  EXPECT_THROW(connect({"ps:0", address}), RpcError);
  EXPECT_THROW(connect({"ps:0", address}, {.transport = "pigeon"}), Error);
}

}  // namespace
}  // namespace cohort::distribute::rpc
