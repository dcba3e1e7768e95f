#include "cohort/distribute/protocol/typed_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/data/iterator_state.h"
#include "cohort/distribute/protocol/lease.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

// Runs closures by counting.
struct CountingTask {
  void run(const Request<Method::RunClosure>& request, Reply<Method::RunClosure>& reply) {
    seen = request.head;
    reply.metadata.set_steps(request.metadata.steps() + 1);
    reply.head.version = 7;
    reply.parts = request.parts;
  }
  void cancel(const Request<Method::Cancel>& request, Reply<Method::Cancel>&) { seen = request.head; }
  Head seen;
};

// A stream to it whose requests and replies can be damaged on the way.
struct CountingStream {
  void call(Message& request, Message& reply) {
    if (damage_request) request.meta = "\xff\xff";
    if (request.head.method == Method::RunClosure) {
      answer(request, reply, task, &CountingTask::run);
    } else {
      answer(request, reply, task, &CountingTask::cancel);
    }
    reply.head.method = request.head.method;
    if (damage_reply) reply.meta = "\xff\xff";
  }
  CountingTask task;
  bool damage_request = false, damage_reply = false;
};

proto::ClosureProto four_steps() {
  proto::ClosureProto closure;
  closure.set_steps(4);
  return closure;
}

TEST(TypedCall, CarriesHeadMetadataAndPartsBothWays) {
  CountingStream stream;
  const Tensor part = Tensor::full({2}, 1.0);
  const auto reply = call<Method::RunClosure>(stream, {.job = 3, .closure = 5}, four_steps(), {part});
  EXPECT_EQ(stream.task.seen.method, Method::RunClosure);
  EXPECT_EQ(stream.task.seen.job, 3u);
  EXPECT_EQ(stream.task.seen.closure, 5u);
  EXPECT_EQ(reply.head.version, 7u);
  EXPECT_EQ(reply.metadata.steps(), 5);
  ASSERT_EQ(reply.parts.size(), 1u);
  EXPECT_EQ(reply.parts[0].data<float>().data(), part.data<float>().data());  // not a copy
}

TEST(TypedCall, RefusesWhatIsNotTheMethodsMetadata) {
  CountingStream stream;
  stream.damage_request = true;
  EXPECT_THAT(error_of([&] { call<Method::RunClosure>(stream, {}, four_steps()); }),
              AllOf(HasSubstr("DataLoss Server"), HasSubstr("method=RunClosure, bytes=2")));
  EXPECT_THAT(error_of([&] { call<Method::Cancel>(stream, {}); }),
              AllOf(HasSubstr("DataLoss Server"), HasSubstr("method=Cancel")));
  stream.damage_request = false;
  stream.damage_reply = true;
  EXPECT_THAT(error_of([&] { call<Method::RunClosure>(stream, {}, four_steps()); }), HasSubstr("DataLoss RunClosure"));
}

TEST(TypedCall, ARequestKeepsItsMessagesMemory) {
  Message request;
  request.parts.resize(1);
  write_request<Method::RunClosure>({.step = 1}, four_steps(), request);
  EXPECT_EQ(request.head.method, Method::RunClosure);
  EXPECT_EQ(request.parts.size(), 1u);
  EXPECT_FALSE(request.meta.empty());
  write_request<Method::Exchange>({.step = 2}, {}, request);
  EXPECT_EQ(request.head.method, Method::Exchange);
  EXPECT_EQ(request.head.step, 2u);
  EXPECT_TRUE(request.meta.empty());
  EXPECT_EQ(request.parts.size(), 1u);
}

TEST(Lease, IsTheSameAfterAMessageAndInASavedPosition) {
  const Lease lease{.dataset = 1, .pipeline = 2, .rewinds = 3, .first = 4, .state_at = 5, .state = {"a\0b", 3}};
  const auto expect_same_place = [&](const Lease& read) {
    EXPECT_EQ(read.rewinds, 3u);
    EXPECT_EQ(read.first, 4u);
    EXPECT_EQ(read.state_at, 5u);
    EXPECT_EQ(read.state, lease.state);
  };
  proto::LeaseProto message;
  write_lease(lease, message);
  expect_same_place(read_lease(message));
  EXPECT_EQ(read_lease(message).dataset, 1);
  EXPECT_EQ(read_lease(message).pipeline, 2);

  std::string bytes;
  StateWriter writer(bytes);
  write_lease(lease, writer);
  StateReader reader(bytes);
  expect_same_place(read_lease(reader));
  reader.finish();
}

}  // namespace
}  // namespace cohort::distribute
