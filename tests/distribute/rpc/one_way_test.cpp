#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <vector>

#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/rpc/test_services.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::rpc::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

Message numbered(std::uint64_t sequence, std::int64_t bytes = 0) {
  Message message;
  message.head.sequence = sequence;
  if (bytes > 0) message.parts.push_back(Tensor::full({bytes}, 1, DType::UInt8));
  return message;
}

std::chrono::steady_clock::time_point within(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + cohort::test::patience(time);
}

class OneWay : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Transports, OneWay, testing::Values("shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(OneWay, MessagesComeInOrderAndBeforeTheRequestBehindThem) {
  std::mutex mutex;
  std::vector<std::uint64_t> come;
  FunctionService service([&](const Message& request, Message&) {
    std::lock_guard lock(mutex);
    come.push_back(request.head.sequence);
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  const auto stream = connect({"worker:1", listener.address()}, {.transport = GetParam()})->open();
  for (std::uint64_t i = 0; i < 200; ++i) stream->post(numbered(i, i % 3 == 0 ? 200'000 : 0), within(10s));
  Message reply;
  stream->call(numbered(200), reply);
  EXPECT_EQ(reply.head.sequence, 200u);
  std::vector<std::uint64_t> expected(201);
  std::iota(expected.begin(), expected.end(), 0u);
  std::lock_guard lock(mutex);
  EXPECT_EQ(come, expected);
}

TEST_P(OneWay, WhatIsNotTakenEndsTheStream) {
  FunctionService service([](const Message&, Message&) { throw invalid_argument("Task", "nothing of the kind"); });
  Listener listener("127.0.0.1:0", service, "worker:1");
  const auto stream = connect({"worker:1", listener.address()}, {.transport = GetParam()})->open();
  std::string error;
  const auto deadline = within(5s);
  while (error.empty() && std::chrono::steady_clock::now() < deadline) {
    error = cohort::test::error_of([&] { stream->post(numbered(1), deadline); });
  }
  EXPECT_THAT(error, StartsWith("Unavailable worker:1"));
}

TEST_P(OneWay, ATaskThatTakesNothingInIsKnownAtTheDeadline) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  FunctionService service([&](const Message&, Message&) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return over; });
  });
  Listener listener("127.0.0.1:0", service, "worker:1");
  const auto connection = connect({"worker:1", listener.address()}, {.transport = GetParam()});
  const auto stream = connection->open();
  const auto deadline = within(300ms);
  const std::string error = cohort::test::error_of([&] {
    for (;;) stream->post(numbered(1, 4 << 20), deadline);
  });
  EXPECT_THAT(error, StartsWith("DeadlineExceeded worker:1"));
  EXPECT_THAT(error, HasSubstr("takes nothing in"));
  EXPECT_TRUE(connection->alive());
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  changed.notify_all();
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
