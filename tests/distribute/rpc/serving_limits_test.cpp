// What a server takes upon itself has limits, and whoever meets one is told.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "cohort/distribute/rpc/grpc_settings.h"
#include "cohort/distribute/rpc/message_memory.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "tests/distribute/rpc/test_services.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Message request_of(std::uint64_t bytes) {
  Message request;
  request.parts = {Tensor::full({static_cast<std::int64_t>(bytes)}, 1, DType::UInt8)};
  return request;
}

// What a call throws; its code must be the one that says so.
std::string refusal_of(Stream& stream, const Message& request) {
  Message reply;
  try {
    stream.call(request, reply);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::ResourceExhausted) << error.what();
    return error.what();
  }
}

// A share that notes what was decided.
struct NotingShare {
  NotingShare(MessageMemory& memory, const std::string& connection)
      : share(memory, connection, [this](const std::string& refusal) { decisions.push_back(refusal); }) {}
  MessageMemory::Answer take(std::uint64_t bytes) { return share.take(bytes, refusal); }
  std::string refusal;
  std::vector<std::string> decisions;
  MessageMemory::Share share;
};

TEST(MessageMemory, IsSharedWithinItsLimits) {
  using Answer = MessageMemory::Answer;
  MessageMemory memory({.in_all = 100, .per_connection = 60, .wait = 10s});
  NotingShare first(memory, "a"), second(memory, "a"), third(memory, "a"), other(memory, "b");
  EXPECT_EQ(first.take(40), Answer::Granted);
  EXPECT_EQ(second.take(61), Answer::Refused);
  EXPECT_EQ(second.refusal, "61 bytes, while messages of this connection take 40 of 60 bytes");
  EXPECT_EQ(second.take(~std::uint64_t{0}), Answer::Refused);
  EXPECT_EQ(second.take(20), Answer::Granted);
  EXPECT_EQ(third.take(30), Answer::Later);
  EXPECT_EQ(other.take(50), Answer::Later);
  EXPECT_EQ(memory.taken(), 60u);
  second.share.release();  // the connection of the third is still full
  EXPECT_EQ(third.decisions.size(), 0u);
  EXPECT_EQ(other.decisions, std::vector<std::string>{""});
  EXPECT_EQ(memory.taken(), 90u);
  first.share.release();
  first.share.release();
  EXPECT_EQ(third.decisions, std::vector<std::string>{""});
  EXPECT_EQ(memory.taken(), 80u);
  EXPECT_EQ(first.take(30), Answer::Later);
  memory.expire(MessageMemory::Clock::now());
  EXPECT_TRUE(first.decisions.empty());
  memory.expire(MessageMemory::Clock::now() + 11s);
  EXPECT_EQ(first.decisions, std::vector<std::string>{"30 bytes, while messages of all callers take 80 of 100 bytes"});
  EXPECT_EQ(first.take(30), Answer::Later);
  memory.close();
  EXPECT_EQ(first.decisions.size(), 2u);
  EXPECT_EQ(first.take(~std::uint64_t{0}), Answer::Granted);
}

// Those of messages, which hold on every way.
class MessageLimits : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Transports, MessageLimits, testing::Values("shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MessageLimits, RefuseMessagesThatAreTooLargeAndServeOn) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.message_bytes_per_connection = 4 * kMiB});
  auto connection = connect({"ps:0", listener.address()}, {.transport = GetParam()});
  auto stream = connection->open();
  Message reply;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(refusal_of(*stream, request_of(9 * kMiB)), HasSubstr("ps:0: Message: a message must find memory"));
    stream->call(request_of(3 * kMiB), reply);
    EXPECT_EQ(reply.parts.at(0).bytes(), 3 * kMiB);
  }
  EXPECT_TRUE(connection->alive());
}

TEST_P(MessageLimits, CountWhatIsBeingHandled) {
  std::promise<void> entered, release;
  rpc::test::FunctionService service([&](const Message& request, Message&) {
    if (request.head.method != Method::RunClosure) return;
    entered.set_value();
    release.get_future().wait();
  });
  Listener listener("127.0.0.1:0", service, "ps:0", {.message_bytes = 8 * kMiB, .message_wait = 300ms});
  const auto open = [&] { return connect({"ps:0", listener.address()}, {.transport = GetParam()})->open(); };
  auto holder = open(), stream = open();
  Message large = request_of(6 * kMiB), reply;
  large.head.method = Method::RunClosure;
  holder->send(large);
  entered.get_future().wait();
  EXPECT_THAT(refusal_of(*stream, request_of(5 * kMiB)), HasSubstr("messages of all callers take 62"));
  stream->call(request_of(100), reply);
  release.set_value();
  holder->receive(reply);
  stream->call(request_of(5 * kMiB), reply);
}

TEST_P(MessageLimits, LetMessagesWaitForRoom) {
  std::atomic<int> inside = 0, most = 0;
  rpc::test::FunctionService service([&](const Message&, Message&) {
    most = std::max<int>(most, ++inside);
    std::this_thread::sleep_for(20ms);
    --inside;
  });
  Listener listener("127.0.0.1:0", service, "ps:0", {.message_bytes = 8 * kMiB});
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&] {
      auto stream = connect({"ps:0", listener.address()}, {.transport = GetParam()})->open();
      Message reply;
      for (int n = 0; n < 4; ++n) stream->call(request_of(6 * kMiB), reply);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(most, 1);
}

TEST_P(MessageLimits, KeepNobodyWaitingWhenTheServerStops) {
  std::promise<void> entered, release;
  rpc::test::FunctionService service([&](const Message&, Message&) {
    entered.set_value();
    release.get_future().wait();
  });
  Listener listener("127.0.0.1:0", service, "ps:0", {.message_bytes = 8 * kMiB});
  const auto open = [&] { return connect({"ps:0", listener.address()}, {.transport = GetParam()})->open(); };
  auto holder = open(), waits = open();
  holder->send(request_of(6 * kMiB));
  entered.get_future().wait();
  std::thread waiter([&] {
    Message reply;
    EXPECT_THROW(waits->call(request_of(6 * kMiB), reply), RpcError);
  });
  std::this_thread::sleep_for(50ms);
  std::thread releasing([&] {
    std::this_thread::sleep_for(50ms);
    release.set_value();
  });
  listener.stop();
  waiter.join();
  releasing.join();
}

TEST(ServingLimits, RefuseStreamsThatAreTooMany) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.streams = 3});
  auto connection = connect({"ps:0", listener.address()}, {.transport = "grpc"});
  std::vector<std::unique_ptr<Stream>> streams;
  Message reply;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(connection->open());
    streams.back()->call(request_of(1), reply);
  }
  EXPECT_THAT(refusal_of(*connection->open(), request_of(1)), HasSubstr("the task serves 3 streams and no more"));
  EXPECT_TRUE(connection->alive());
  streams[0]->call(request_of(1), reply);
  streams.pop_back();
  EXPECT_TRUE(rpc::test::comes_true(
      [&] {
        try {
          connection->open()->call(request_of(1), reply);
          return true;
        } catch (const RpcError&) {
          return false;
        }
      },
      5s));
}

TEST(ServingLimits, HoldTheNumberOfThreads) {
  std::atomic<int> inside = 0, most = 0;
  rpc::test::FunctionService service([&](const Message&, Message&) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    std::this_thread::sleep_for(30ms);
    --inside;
  });
  Listener listener("127.0.0.1:0", service, "ps:0", {.threads = 3});
  auto connection = connect({"ps:0", listener.address()}, {.transport = "grpc"});
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&] {
      Message reply;
      connection->open()->call(request_of(1), reply);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 2);
  EXPECT_THROW(Listener("127.0.0.1:0", service, "ps:1", {.threads = -1}), Error);
}

TEST(ServingLimits, LetSeveralThreadsReadTheNetwork) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0", {.network_threads = 3});
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&, i] {
      auto stream = connect({"ps:0", listener.address()}, {.transport = "grpc"})->open();
      Message reply;
      for (int n = 0; n < 60; ++n) {
        const std::uint64_t bytes = n % 10 == 0 ? 3 * kMiB + static_cast<std::uint64_t>(i) : 1000;
        stream->call(request_of(bytes), reply);
        ASSERT_EQ(reply.parts.at(0).bytes(), bytes);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// A stranger's stream: says what it likes.
class Stranger {
 public:
  explicit Stranger(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    call_ = stub_.PrepareCall(&context_, kMessagesMethod, &queue_);
    call_->StartCall(nullptr);
    wait();
  }
  ~Stranger() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }
  void say(const grpc::ByteBuffer& bytes) {
    call_->Write(bytes, nullptr);
    wait();
  }

 private:
  void wait() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call_;
};

TEST(ServingLimits, LeaveAStrangerLittleToTake) {
  rpc::test::EchoService service;
  Listener listener("127.0.0.1:0", service, "ps:0",
                    {.streams = 40, .message_bytes = 256 * kMiB, .message_bytes_per_connection = 100 * kMiB});
  auto honest = connect({"ps:0", listener.address()}, {.transport = "grpc"})->open();
  Message reply;
  honest->call(request_of(1), reply);
  // Messages that begin well and never end, many at a time.
  MessageWriter writer;
  grpc::ByteBuffer first_chunk;
  writer.begin(request_of(60 * kMiB));
  writer.next(first_chunk);
  const auto channel = make_channel(listener.address(), 1000ms, grpc::InsecureChannelCredentials());
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(std::make_unique<Stranger>(channel));
    strangers.back()->say(first_chunk);
  }
  honest->call(request_of(100), reply);
  honest->call(request_of(90 * kMiB), reply);
  EXPECT_EQ(reply.parts.at(0).bytes(), 90 * kMiB);
  strangers.clear();
  honest->call(request_of(90 * kMiB), reply);
}

}  // namespace
}  // namespace cohort::distribute::rpc
