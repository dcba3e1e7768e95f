#include "cohort/distribute/worker/member_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "cohort/distribute/protocol/members.h"
#include "cohort/distribute/worker/task_service.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const ClusterSpec kBookCluster({{"ps", {"127.0.0.1:4", "127.0.0.1:5"}}, {"worker", {"127.0.0.1:6"}}});

// A book that members with a way to it call.
class Book {
 public:
  explicit Book(MemberBookOptions options = {}) : book_(kBookCluster, "ps", 0, options) {}

  std::int64_t join(std::int64_t index, const std::string& address, std::uint64_t incarnation) {
    proto::JoinProto from;
    from.set_protocol(kProtocolVersion);
    from.set_task_index(index);
    from.set_address(address);
    from.set_incarnation(incarnation);
    return join(from);
  }
  std::int64_t join(const proto::JoinProto& from) {
    proto::JoinReplyProto answer;
    Reply<Method::Join> reply{head_, answer, parts_};
    book_.join({head_, from, parts_}, reply);
    return answer.task_index();
  }
  void leave(std::int64_t index, std::uint64_t incarnation) {
    proto::LeaveProto from;
    from.set_task_index(index);
    from.set_incarnation(incarnation);
    NoMetadata nothing;
    Reply<Method::Leave> reply{head_, nothing, parts_};
    book_.leave({head_, from, parts_}, reply);
  }
  MemberList members(std::uint64_t known = 0, std::chrono::milliseconds wait = 0ms) {
    Head head;
    Tensors parts;
    proto::MembersReplyProto answer;
    Reply<Method::Members> reply{head, answer, parts};
    book_.members({head, describe_question(known, wait), parts}, reply);
    return read_members(answer);
  }
  std::vector<std::string> addresses() {
    std::vector<std::string> texts;
    for (const Member& member : members().members) texts.push_back(std::to_string(member.index) + "=" + member.address);
    return texts;
  }
  MemberBook& book() { return book_; }

 private:
  MemberBook book_;
  Head head_;
  Tensors parts_;
};

TEST(MemberBook, KnowsWhoIsWhereAndItsGenerationGrows) {
  Book book;
  std::uint64_t generation = book.members().generation;
  const auto expect_change = [&](bool changed) {
    const std::uint64_t now = book.members().generation;
    EXPECT_EQ(now > generation, changed);
    generation = now;
  };
  EXPECT_EQ(book.join(3, "127.0.0.1:30", 7), 3);
  expect_change(true);
  EXPECT_EQ(book.join(3, "127.0.0.1:30", 7), 3);
  expect_change(false);
  EXPECT_EQ(book.join(3, "127.0.0.1:31", 7), 3);
  expect_change(true);
  EXPECT_EQ(book.join(0, "host:40", 8), 0);
  EXPECT_THAT(book.addresses(), ElementsAre("0=host:40", "3=127.0.0.1:31"));
  book.leave(3, 99);  // by another process
  EXPECT_THAT(book.addresses(), ElementsAre("0=host:40", "3=127.0.0.1:31"));
  expect_change(true);
  book.leave(3, 7);
  expect_change(true);
  EXPECT_THAT(book.addresses(), ElementsAre("0=host:40"));
}

TEST(MemberBook, NumbersThoseThatAskForIt) {
  Book book;
  EXPECT_EQ(book.join(-1, "", 1), 1) << "the cluster lists worker:0";
  EXPECT_THAT(book.addresses(), ElementsAre()) << "it does not listen yet";
  EXPECT_EQ(book.join(-1, "", 2), 2);
  EXPECT_EQ(book.join(-1, "", 1), 1) << "the same process";
  EXPECT_EQ(book.join(1, "127.0.0.1:11", 1), 1);
  EXPECT_THAT(book.addresses(), ElementsAre("1=127.0.0.1:11"));
  book.leave(1, 1);
  EXPECT_EQ(book.join(-1, "", 3), 1);
}

TEST(MemberBook, OnlyReplacesWhoIsGone) {
  Book book;
  book.book().caller_came(1);
  book.book().caller_came(1);
  book.join(2, "127.0.0.1:20", 1);
  const auto replace = [&] { book.join(2, "127.0.0.1:21", 9); };
  EXPECT_THAT(error_of(replace), AllOf(HasSubstr("AlreadyExists ps:0"), HasSubstr("member=worker:2"),
                                       HasSubstr("at=127.0.0.1:20"), HasSubstr("Stop that one first")));
  EXPECT_THAT(error_of([&] { book.join(3, "127.0.0.1:20", 9); }),
              AllOf(HasSubstr("AlreadyExists"), HasSubstr("an address of the member's own")));
  book.book().caller_left(1);
  EXPECT_NE(error_of(replace), "") << "it has another way";
  book.book().caller_left(1);
  EXPECT_EQ(error_of(replace), "");
  EXPECT_THAT(book.addresses(), ElementsAre("2=127.0.0.1:21"));
  // The one before wakes up after all.
  book.book().caller_came(9);
  EXPECT_THAT(error_of([&] { book.join(2, "127.0.0.1:20", 1); }), HasSubstr("AlreadyExists"));
  // A port that was used by one that is gone.
  book.book().caller_left(9);
  EXPECT_EQ(book.join(5, "127.0.0.1:21", 10), 5);
  EXPECT_THAT(book.addresses(), ElementsAre("5=127.0.0.1:21"));
}

TEST(MemberBook, ForgetsWhoIsNotHeardOf) {
  Book book({.lease = 40ms});
  book.book().caller_came(1);
  book.join(0, "127.0.0.1:10", 1);
  const std::uint64_t generation = book.members().generation;
  std::this_thread::sleep_for(60ms);
  EXPECT_THAT(book.addresses(), ElementsAre());
  EXPECT_GT(book.members().generation, generation);
}

TEST(MemberBook, RefusesWhatCannotBe) {
  Book book({.most = 2});
  EXPECT_THAT(error_of([&] { book.join(0, "no address", 1); }), HasSubstr("InvalidArgument ps:0"));
  for (const std::string address : {"127.0.0.1:0", "0.0.0.0:3", "[::]:3"}) {
    EXPECT_THAT(error_of([&] { book.join(0, address, 1); }), HasSubstr("an address that others can dial")) << address;
  }
  EXPECT_THAT(error_of([&] { book.join(0, std::string(400, 'a') + ":1", 1); }), HasSubstr("shorter"));
  EXPECT_THAT(error_of([&] { book.join(-2, "127.0.0.1:1", 1); }), HasSubstr("task_index=-2"));
  EXPECT_THAT(error_of([&] { book.join(kHighestMember + 1, "127.0.0.1:1", 1); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error_of([&] { book.join(0, "127.0.0.1:1", 0); }), HasSubstr("incarnation=0"));
  EXPECT_THAT(error_of([&] { book.join(proto::JoinProto()); }), HasSubstr("the same protocol"));
  book.join(0, "127.0.0.1:10", 1);
  book.join(1, "127.0.0.1:11", 2);
  EXPECT_THAT(error_of([&] { book.join(2, "127.0.0.1:12", 3); }), HasSubstr("ResourceExhausted ps:0"));
  EXPECT_EQ(error_of([&] { book.join(1, "127.0.0.1:12", 2); }), "");
}

TEST(MemberBook, AnswersWhenSomethingChangesOrSoon) {
  const auto elapsed = [](const auto& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::steady_clock::now() - begin;
  };
  Book impatient({.longest_wait = 60ms});
  EXPECT_GE(elapsed([&] { impatient.members(impatient.members().generation, 30ms); }), 30ms);
  EXPECT_LT(elapsed([&] { impatient.members(impatient.members().generation, 10min); }), 5s);
  Book book({.longest_wait = 10s, .most_waiting = 1});
  const std::uint64_t known = book.members().generation;
  EXPECT_LT(elapsed([&] { book.members(known + 1, 10min); }), 5s) << "it knows something else";
  const auto ask = [&] { return book.members(known, 10min); };
  auto one = std::async(std::launch::async, ask), other = std::async(std::launch::async, ask);
  const auto is_answered = [](auto& answer) { return answer.wait_for(0s) == std::future_status::ready; };
  for (int tries = 0; tries < 1000 && !is_answered(one) && !is_answered(other); ++tries) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_NE(is_answered(one), is_answered(other)) << "one of them waits";
  book.join(4, "127.0.0.1:40", 1);
  EXPECT_EQ(one.get().members.size() + other.get().members.size(), 1u);
  book.book().stop();
  EXPECT_LT(elapsed([&] { book.members(book.members().generation, 10min); }), 5s);
}

TEST(MemberBook, OnlyTheFirstPsKeepsOne) {
  const auto error_at = [](const std::string& job, std::int64_t index) {
    TaskService task(kBookCluster, job, index, {});
    Message request, reply;
    request.head.method = Method::Members;
    return error_of([&] { task.handle(request, reply); });
  };
  EXPECT_EQ(error_at("ps", 0), "");
  EXPECT_THAT(error_at("ps", 1), AllOf(HasSubstr("FailedPrecondition ps:1"), HasSubstr("the first ps")));
  EXPECT_THAT(error_at("worker", 0), HasSubstr("FailedPrecondition worker:0"));
}

TEST(MemberBook, WorkersSpeakForThemselvesAlone) {
  const TaskService task(kBookCluster, "ps", 0, {});
  const auto error_for = [&](const TaskIdentity& caller, Method method, std::int64_t index) {
    Message request;
    request.head.method = method;
    proto::JoinProto join;
    join.set_task_index(index);
    proto::LeaveProto leave;
    leave.set_task_index(index);
    request.meta = method == Method::Join ? join.SerializeAsString() : leave.SerializeAsString();
    return error_of([&] { task.check_caller(caller, request); });
  };
  const TaskIdentity worker{"training", "worker", 2}, by_secret{"", "worker", 2};
  for (const Method method : {Method::Join, Method::Leave}) {
    EXPECT_EQ(error_for(worker, method, 2), "");
    EXPECT_THAT(error_for(worker, method, 3),
                AllOf(HasSubstr("PermissionDenied ps:0"), HasSubstr("caller=worker:2"), HasSubstr("task_index=3")));
    EXPECT_THAT(error_for(by_secret, method, 3), HasSubstr("PermissionDenied"));
    for (const std::string job : {"chief", "ps", "evaluator", "client"}) {
      EXPECT_THAT(error_for({"training", job, 2}, method, 2), HasSubstr("PermissionDenied")) << job;
    }
  }
  EXPECT_THAT(error_for(worker, Method::Join, -1), HasSubstr("PermissionDenied"));
  EXPECT_EQ(error_for(by_secret, Method::Join, -1), "");
  Message question;
  question.head.method = Method::Members;
  EXPECT_EQ(error_of([&] { task.check_caller(worker, question); }), "");
}

}  // namespace
}  // namespace cohort::distribute::test
