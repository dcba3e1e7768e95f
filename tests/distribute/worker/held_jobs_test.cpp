#include "cohort/distribute/worker/held_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/worker/task_service.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/initial_value.h"
#include "tests/support/error_of.h"
#include "tests/support/patience.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using cohort::test::patience;
using testing::AllOf;
using testing::HasSubstr;

// A task, and chiefs that are numbers.
class TaskOfJobs {
 public:
  explicit TaskOfJobs(TaskLimits limits = {}) : service(spec(), "worker", 0, {}, std::move(limits)) {}
  ~TaskOfJobs() {
    service.stop();
    if (waiting_.joinable()) waiting_.join();
  }

  std::string error_of_hello(std::uint64_t chief, const std::string& name, const std::string& key = "") {
    proto::HelloProto hello;
    hello.set_protocol(kProtocolVersion);
    hello.set_job_name("worker");
    hello.set_led_job(name);
    hello.set_job_key(key);
    return error_of_message(chief, Method::Hello, hello.SerializeAsString());
  }
  std::string error_of_message(std::uint64_t chief, Method method, const std::string& meta = "",
                               std::uint64_t closure = 0) {
    Message request;
    request.head = {.method = method, .job = chief, .closure = closure};
    request.meta = meta;
    return error_of([&] { service.handle(request, reply); });
  }
  bool serves(std::uint64_t chief) { return error_of_message(chief, Method::Cancel).empty(); }
  std::string error_of_variable(std::uint64_t chief, const std::string& name, std::int64_t values) {
    proto::CreateVariableProto variable;
    variable.set_name(name);
    write_spec({DType::Float32, {values}}, *variable.mutable_spec());
    ConstantTable constants;
    variable.set_initial(serialize(InitialValue::constant(1.0, {values}, DType::Float32).graph(), constants));
    return error_of_message(chief, Method::CreateVariable, variable.SerializeAsString());
  }
  proto::TaskStatusProto status(std::uint64_t chief = 0) {
    EXPECT_EQ(error_of_message(chief, Method::Status), "");
    proto::TaskStatusProto status;
    status.ParseFromString(reply.meta);
    return status;
  }
  // As Server::join() does.
  void begin_to_wait() {
    waiting_ = std::thread([this] {
      service.wait();
      over_ = true;
    });
  }
  bool ends_within(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!over_ && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    return over_;
  }

  TaskService service;
  Message reply;

 private:
  static ClusterSpec spec() { return ClusterSpec({{"ps", {"127.0.0.1:4"}}, {"worker", {"127.0.0.1:5"}}}); }
  std::atomic<bool> over_ = false;
  std::thread waiting_;
};

TEST(HeldJobs, OfDifferentNamesStandSideBySide) {
  TaskOfJobs task;
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  // Under the same name, and with another shape: they are not the same variable.
  EXPECT_EQ(task.error_of_variable(1, "w", 10), "");
  EXPECT_EQ(task.error_of_variable(2, "w", 20), "");
  EXPECT_TRUE(task.serves(1) && task.serves(2));
  // A new chief of one of them.
  EXPECT_EQ(task.error_of_hello(3, "day"), "");
  EXPECT_THAT(task.error_of_message(1, Method::Cancel),
              AllOf(HasSubstr("Aborted worker:0"), HasSubstr("Another chief has taken over")));
  EXPECT_TRUE(task.serves(2) && task.serves(3));
  EXPECT_EQ(task.error_of_variable(3, "w", 30), "") << "nothing is left of the one before";
  EXPECT_THAT(task.error_of_variable(2, "w", 30), HasSubstr("InvalidArgument"));
  EXPECT_THAT(task.error_of_message(4, Method::Cancel), HasSubstr("Unavailable worker:0"));
}

TEST(HeldJobs, ThatAreLedAreNotTakenByMistake) {
  TaskOfJobs task;
  task.service.caller_came(1);
  EXPECT_EQ(task.error_of_hello(1, "day", "secret"), "");
  EXPECT_THAT(task.error_of_hello(2, "day"), AllOf(HasSubstr("FailedPrecondition worker:0"), HasSubstr("led as=day"),
                                                   HasSubstr("job_name"), HasSubstr("take_over")));
  EXPECT_EQ(task.error_of_hello(3, "night", "secret"), "");
  EXPECT_TRUE(task.serves(1)) << "the key of a job is nothing to another";
  EXPECT_EQ(task.error_of_hello(2, "day", "secret"), "");
  EXPECT_FALSE(task.serves(1));
  EXPECT_TRUE(task.serves(2) && task.serves(3));
}

TEST(HeldJobs, AreNoMoreThanTheTaskTakes) {
  TaskOfJobs task({.max_jobs = 2});
  task.service.caller_came(1);
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  EXPECT_THAT(task.error_of_hello(3, "dusk"),
              AllOf(HasSubstr("ResourceExhausted worker:0"), HasSubstr("job=dusk, max_jobs=2"),
                    HasSubstr("jobs here=[day, night (chief gone)]"), HasSubstr("--max-jobs")));
  EXPECT_EQ(task.error_of_hello(4, "night"), "") << "the same name needs no further place";
  EXPECT_EQ(task.error_of_message(4, Method::EndJob), "");
  EXPECT_EQ(task.error_of_hello(3, "dusk"), "");
  EXPECT_TRUE(task.serves(1) && task.serves(3));
  EXPECT_THAT(task.error_of_hello(5, std::string(201, 'x')), HasSubstr("InvalidArgument worker:0"));
}

TEST(HeldJobs, TheTaskEndsWithTheLastOfThem) {
  TaskOfJobs task;
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  task.begin_to_wait();
  EXPECT_EQ(task.error_of_message(1, Method::EndJob), "");
  EXPECT_FALSE(task.ends_within(100ms));
  EXPECT_TRUE(task.serves(2));
  EXPECT_FALSE(task.serves(1));
  EXPECT_THAT(task.error_of_hello(1, "day"), HasSubstr("Aborted worker:0"));
  EXPECT_EQ(task.error_of_message(2, Method::EndJob), "");
  EXPECT_TRUE(task.ends_within(patience(5s)));
}

TEST(HeldJobs, ATaskThatIsToStayServesTheNextOne) {
  TaskOfJobs task({.stay = true});
  task.begin_to_wait();
  for (std::uint64_t chief = 1; chief <= 3; ++chief) {
    EXPECT_EQ(task.error_of_hello(chief, "day"), "");
    EXPECT_EQ(task.error_of_message(chief, Method::EndJob), "");
  }
  EXPECT_FALSE(task.ends_within(100ms));
  task.service.stop();
  EXPECT_TRUE(task.ends_within(patience(5s)));
}

// One stage that does nothing.
std::string empty_function() {
  proto::RegisterWorkerProto function;
  ConstantTable constants;
  function.add_stages()->set_graph(serialize(Graph(), constants));
  return function.SerializeAsString();
}

std::string message_of_steps(std::int64_t steps) {
  proto::ClosureProto closure;
  closure.set_steps(steps);
  return closure.SerializeAsString();
}

TEST(HeldJobs, BeginNothingOnATaskThatLeaves) {
  TaskOfJobs task;
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_message(1, Method::RegisterWorker, empty_function()), "");
  EXPECT_EQ(task.error_of_message(1, Method::RunClosure, message_of_steps(3), 1), "");
  EXPECT_FALSE(task.service.leave(std::chrono::steady_clock::now() + 10s)) << "nothing runs";
  EXPECT_THAT(task.error_of_message(1, Method::RunClosure, message_of_steps(3), 2),
              AllOf(HasSubstr("Unavailable"), HasSubstr("being stopped")));
  EXPECT_EQ(task.reply.head.flags, kLeaving) << "no fault of the closure's";
  EXPECT_THAT(task.error_of_message(1, Method::Progress), HasSubstr("being stopped")) << "who asks has work for it";
  EXPECT_EQ(task.error_of_message(1, Method::RunClosure, message_of_steps(3), 1), "") << "what is done is told again";
  EXPECT_EQ(task.service.progress(1), 3u);
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  EXPECT_EQ(task.error_of_message(2, Method::RegisterWorker, empty_function()), "");
  EXPECT_THAT(task.error_of_message(2, Method::RunClosure, message_of_steps(3), 1), HasSubstr("being stopped"));
}

TEST(HeldJobs, EndWhatTheyHaveBegunOnATaskThatLeaves) {
  TaskOfJobs task;
  constexpr std::uint64_t kSteps = 200'000;
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_message(1, Method::RegisterWorker, empty_function()), "");
  std::string error = "not run";
  std::thread runs([&] {
    error = task.error_of_message(1, Method::RunClosure, message_of_steps(static_cast<std::int64_t>(kSteps)), 1);
  });
  while (task.service.progress(1) == 0) std::this_thread::yield();
  task.service.leave(std::chrono::steady_clock::now() + patience(20s));
  EXPECT_EQ(task.service.progress(1), kSteps);
  runs.join();
  EXPECT_EQ(error, "");
}

TEST(HeldJobs, AreNotWaitedForByATaskThatLeavesForLongerThanItHas) {
  TaskOfJobs task;
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_message(1, Method::RegisterWorker, empty_function()), "");
  std::thread runs([&] {
    // So long that others are still there when it has ended.
    for (std::uint64_t id = 1; task.error_of_message(1, Method::RunClosure, message_of_steps(1 << 20), id).empty();
         ++id) {
    }
  });
  while (task.service.progress(1) == 0) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  task.service.leave(start + 10ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, patience(5s));
  task.service.stop();
  runs.join();
}

TEST(HeldJobs, ThoseWhoseChiefsAreGoneGoOneByOne) {
  TaskOfJobs task({.orphan_timeout = 100ms});
  task.begin_to_wait();
  for (const std::uint64_t chief : {1, 2}) task.service.caller_came(chief);
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  task.service.caller_left(1);
  EXPECT_FALSE(task.ends_within(300ms));
  EXPECT_THAT(task.error_of_message(1, Method::Cancel), AllOf(HasSubstr("Aborted"), HasSubstr("orphan_timeout")));
  EXPECT_THAT(task.error_of_hello(1, "day"), HasSubstr("orphan_timeout"));
  EXPECT_TRUE(task.serves(2));
  // Who never had a way here, or had lost it before its word was read, goes likewise.
  EXPECT_EQ(task.error_of_hello(3, "dusk"), "");
  EXPECT_FALSE(task.ends_within(300ms));
  EXPECT_FALSE(task.serves(3));
  task.service.caller_left(2);
  EXPECT_TRUE(task.ends_within(patience(5s)));
}

TEST(HeldJobs, AnOrphanMakesRoomForWhoComesAlsoWhereNobodyWaits) {
  TaskOfJobs task({.max_jobs = 1, .orphan_timeout = 50ms});
  task.service.caller_came(1);
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  task.service.caller_left(1);
  EXPECT_THAT(task.error_of_hello(2, "night"), HasSubstr("ResourceExhausted"));
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
}

TEST(HeldJobs, HaveProgressAndStatusOfTheirOwn) {
  TaskOfJobs task;
  task.service.caller_came(1);
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  proto::RegisterWorkerProto empty;
  ConstantTable constants;
  empty.add_stages()->set_graph(serialize(Graph(), constants));
  proto::ClosureProto closure;
  for (const std::uint64_t chief : {1, 2}) {
    EXPECT_EQ(task.error_of_message(chief, Method::RegisterWorker, empty.SerializeAsString()), "");
    closure.set_steps(static_cast<std::int64_t>(10 * chief));
    EXPECT_EQ(task.error_of_message(chief, Method::RunClosure, closure.SerializeAsString(), 1), "");
  }
  EXPECT_EQ(task.error_of_variable(1, "w", 100), "");
  EXPECT_EQ(task.service.progress(1), 10u);
  EXPECT_EQ(task.service.progress(2), 20u);
  EXPECT_EQ(task.service.progress(3), 0u);
  EXPECT_EQ(task.service.progress(0), 30u);

  const proto::TaskStatusProto status = task.status();
  EXPECT_EQ(status.led_job(), "night") << "the one that came last";
  EXPECT_EQ(status.steps(), 20u);
  ASSERT_EQ(status.jobs_size(), 2);
  EXPECT_EQ(status.jobs(0).led_job(), "day");
  EXPECT_EQ(status.jobs(0).steps(), 10u);
  EXPECT_EQ(status.jobs(0).variable_bytes(), 400u);
  EXPECT_TRUE(status.jobs(0).led());
  EXPECT_FALSE(status.jobs(1).led());
  EXPECT_EQ(status.jobs(1).variable_bytes(), 0u);
  EXPECT_EQ(task.status(1).led_job(), "day");
  EXPECT_EQ(task.status(1).steps(), 10u);
  EXPECT_EQ(task.status(1).job_name(), "worker");
}

TEST(HeldJobs, ShareTheMemoryOfTheirTask) {
  TaskOfJobs task({.memory_limit = 1000, .total_memory_limit = 1600});
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  EXPECT_EQ(task.error_of_hello(2, "night"), "");
  EXPECT_EQ(task.error_of_variable(1, "a", 225), "");
  EXPECT_THAT(task.error_of_variable(1, "b", 50),
              AllOf(HasSubstr("ResourceExhausted"), HasSubstr("variable=b, bytes=200, free=100, limit=memory_limit")));
  EXPECT_THAT(task.error_of_variable(2, "a", 200), HasSubstr("bytes=800, free=700, limit=total_memory_limit"));
  EXPECT_EQ(task.error_of_variable(2, "a", 175), "");
  EXPECT_EQ(task.error_of_message(1, Method::EndJob), "");
  EXPECT_EQ(task.error_of_variable(2, "b", 75), "") << "what one had is free when it has ended";
}

// A worker's copies count, too: nobody takes memory by a word.
TEST(HeldJobs, CopiesOnAWorkerTakeOfTheirJobsMemory) {
  TaskOfJobs task({.memory_limit = 1000});
  EXPECT_EQ(task.error_of_hello(1, "day"), "");
  proto::RegisterWorkerProto function;
  ConstantTable constants;
  function.add_stages()->set_graph(serialize(Graph(), constants));
  function.add_ps()->set_address("127.0.0.1:4");
  proto::InputProto& input = *function.add_inputs();
  input.set_kind(proto::InputProto::REPLICA);
  input.set_name("w");
  write_spec({DType::Float32, {300}}, *input.mutable_spec());
  const auto error = [&] { return task.error_of_message(1, Method::RegisterWorker, function.SerializeAsString()); };
  EXPECT_THAT(error(), AllOf(HasSubstr("ResourceExhausted"), HasSubstr("variable=w, bytes=1200, free=1000")));
  input.clear_spec();
  write_spec({DType::Float32, {200}}, *input.mutable_spec());
  EXPECT_EQ(error(), "");
}

}  // namespace
}  // namespace cohort::distribute::test
