#include "cohort/distribute/worker/task_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/rpc/request_handling.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/initial_value.h"
#include "tests/distribute/watched_cluster.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kJob = 99;

proto::HelloProto hello_to(const std::string& job_name, std::int64_t index) {
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_job_name(job_name);
  hello.set_task_index(index);
  hello.set_from("chief");
  return hello;
}

class OneTask : public testing::Test {
 protected:
  std::string error_of_message(Method method, const std::string& meta, std::uint64_t job = kJob, Tensors parts = {}) {
    Message request;
    request.head.method = method;
    request.head.job = job;
    request.meta = meta;
    request.parts = std::move(parts);
    return error_of([&] { task_.handle(request, reply_); });
  }
  std::string error_of_hello(const proto::HelloProto& hello, std::uint64_t job = kJob) {
    return error_of_message(Method::Hello, hello.SerializeAsString(), job);
  }

  TaskService task_{ClusterSpec({{"ps", {"127.0.0.1:4"}}, {"worker", {"127.0.0.1:5"}}}), "worker", 0, {}};
  Message reply_;
};

TEST_F(OneTask, TellsCallersThatMeanAnotherOne) {
  proto::HelloProto newer = hello_to("worker", 0);
  newer.set_protocol(kProtocolVersion + 1);
  EXPECT_THAT(error_of_hello(newer), AllOf(HasSubstr("FailedPrecondition worker:0"), HasSubstr("the same protocol"),
                                           HasSubstr("Run the same version of Cohort everywhere")));
  EXPECT_THAT(error_of_hello(hello_to("worker", 1)), HasSubstr("asked for=worker:1"));
  EXPECT_THAT(error_of_hello(hello_to("ps", 0)), HasSubstr("asked for=ps:0"));
  proto::HelloProto elsewhere = hello_to("worker", 0);
  elsewhere.add_cluster()->set_name("ps");
  elsewhere.mutable_cluster(0)->add_tasks()->set_address("127.0.0.1:7");
  EXPECT_THAT(error_of_hello(elsewhere),
              AllOf(HasSubstr("the same parameter servers"), HasSubstr("[127.0.0.1:7]"), HasSubstr("[127.0.0.1:4]")));
  elsewhere.mutable_cluster(0)->mutable_tasks(0)->set_address("no address");
  EXPECT_THAT(error_of_hello(elsewhere), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error_of_message(Method::Hello, "\x01"), HasSubstr("DataLoss"));
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
}

TEST_F(OneTask, ServesOnlyTheChiefThatCameLast) {
  EXPECT_THAT(error_of_message(Method::Cancel, ""), HasSubstr("Unavailable worker:0"));
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  EXPECT_EQ(error_of_message(Method::Cancel, ""), "");
  EXPECT_EQ(error_of_hello(hello_to("worker", 0), kJob + 1), "");
  EXPECT_THAT(error_of_message(Method::Cancel, ""), AllOf(HasSubstr("Aborted worker:0"), HasSubstr("Another chief")));
  // The one before was not dead after all, and looks for its tasks again.
  EXPECT_THAT(error_of_hello(hello_to("worker", 0)), AllOf(HasSubstr("Aborted worker:0"), HasSubstr("Another chief")));
  EXPECT_EQ(error_of_message(Method::Cancel, "", kJob + 1), "");
  EXPECT_EQ(error_of_message(Method::EndJob, "", kJob + 1), "");
  task_.wait();
  EXPECT_THAT(error_of_hello(hello_to("worker", 0), kJob + 1), HasSubstr("Aborted worker:0"));
  EXPECT_THAT(error_of_message(Method::Cancel, "", kJob + 1), HasSubstr("Unavailable"));
}

TEST_F(OneTask, EndsWhenItsChiefIsGoneForTooLong) {
  TaskService task(ClusterSpec({{"ps", {"127.0.0.1:4"}}, {"worker", {"127.0.0.1:5"}}}), "worker", 0, {},
                   {.orphan_timeout = 100ms});
  std::atomic<bool> over = false;
  std::thread waiting([&] {
    task.wait();
    over = true;
  });
  task.caller_came(kJob);
  Message request;
  request.head = {.method = Method::Hello, .job = kJob};
  request.meta = hello_to("worker", 0).SerializeAsString();
  task.handle(request, reply_);
  task.caller_came(kJob);
  task.caller_left(kJob);
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(over) << "one of its ways holds";
  task.caller_left(kJob);
  task.caller_came(kJob);
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(over) << "it is back";
  task.caller_left(kJob);
  waiting.join();
}

TEST_F(OneTask, RefusesMethodsItDoesNotKnow) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  for (const int method : {0, 200, 255, 65535}) {
    EXPECT_THAT(error_of_message(static_cast<Method>(method), ""),
                AllOf(HasSubstr("Unimplemented worker:0"), HasSubstr("method=" + std::to_string(method))));
  }
}

TEST_F(OneTask, RefusesMessagesThatAreNone) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  for (const Method method : {Method::CreateVariable, Method::RegisterServer, Method::RegisterWorker,
                              Method::CreatePipeline, Method::RunGraph}) {
    EXPECT_THAT(error_of_message(method, "\xff\xff\xff\xff"), HasSubstr("DataLoss")) << to_string(method);
  }
  for (const Method method : {Method::CreateVariable, Method::RegisterWorker, Method::CreatePipeline}) {
    EXPECT_NE(error_of_message(method, ""), "") << to_string(method);
  }
  EXPECT_THAT(error_of_message(Method::RunClosure, ""), HasSubstr("NotFound"));
  EXPECT_THAT(error_of_message(Method::Exchange, ""), HasSubstr("NotFound"));
}

// A variable is made only of a value that was made: no memory is taken on a stranger's word.
TEST_F(OneTask, DoesNotBelieveHugeShapes) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  proto::RegisterWorkerProto meta;
  meta.add_stages();
  proto::InputProto& input = *meta.add_inputs();
  meta.add_ps()->set_address("127.0.0.1:4");
  input.set_kind(proto::InputProto::ACCUMULATOR);
  input.mutable_spec()->set_dtype(static_cast<int>(DType::Float32));
  for (int axis = 0; axis < 3; ++axis) input.mutable_spec()->mutable_shape()->add_sizes(std::int64_t{1} << 40);
  EXPECT_NE(error_of_message(Method::RegisterWorker, meta.SerializeAsString()), "");
  meta.mutable_inputs(0)->set_kind(proto::InputProto::REPLICA);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_NE(error_of_message(Method::RegisterWorker, meta.SerializeAsString()), "");
  }
}

// A function of one round that reads a variable of the last ps.
proto::RegisterWorkerProto reading_function(int num_ps) {
  proto::RegisterWorkerProto meta;
  ConstantTable constants;
  for (int stage = 0; stage < 2; ++stage) meta.add_stages()->set_graph(serialize(Graph(), constants));
  meta.add_rounds()->add_exchanges()->set_ps(num_ps - 1);
  proto::InputProto& input = *meta.add_inputs();
  input.set_kind(proto::InputProto::REPLICA);
  input.set_name("w");
  input.set_ps(num_ps - 1);
  write_spec({DType::Float32, {2}}, *input.mutable_spec());
  meta.add_ps_pulls()->set_ps(num_ps - 1);
  meta.mutable_ps_pulls(0)->add_inputs(0);
  for (int ps = 0; ps < num_ps; ++ps) meta.add_ps()->set_address("127.0.0.1:4");
  return meta;
}

TEST_F(OneTask, RefusesFunctionsOfServersThatTheJobDoesNotHave) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  const proto::RegisterWorkerProto good = reading_function(2);
  using Limits = std::numeric_limits<std::int32_t>;
  for (const int ps : {-1, 2, Limits::min(), Limits::max()}) {
    proto::RegisterWorkerProto pull = good, exchange = good, replica = good;
    pull.mutable_ps_pulls(0)->set_ps(ps);
    exchange.mutable_rounds(0)->mutable_exchanges(0)->set_ps(ps);
    replica.mutable_inputs(0)->set_ps(ps);
    for (const proto::RegisterWorkerProto& bad : {pull, exchange, replica}) {
      EXPECT_THAT(error_of_message(Method::RegisterWorker, bad.SerializeAsString()),
                  AllOf(HasSubstr("InvalidArgument Server"), HasSubstr("a server of the job is expected"),
                        HasSubstr("server=" + std::to_string(ps) + ", servers=2")));
    }
  }
  EXPECT_EQ(error_of_message(Method::RegisterWorker, good.SerializeAsString()), "");
}

TEST_F(OneTask, RefusesFunctionsWithServersOfAnotherCluster) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  proto::RegisterWorkerProto stranger = reading_function(1);
  stranger.mutable_ps(0)->set_address("127.0.0.1:7");
  EXPECT_THAT(
      error_of_message(Method::RegisterWorker, stranger.SerializeAsString()),
      AllOf(HasSubstr("InvalidArgument Server"), HasSubstr("server=127.0.0.1:7"), HasSubstr("servers=[127.0.0.1:4]")));
  EXPECT_EQ(error_of_message(Method::RegisterWorker, reading_function(1).SerializeAsString()), "");
}

// A function that is refused leaves the others what they need.
TEST_F(OneTask, AFunctionThatIsRefusedChangesNoLinks) {
  proto::HelloProto hello = hello_to("worker", 0);
  hello.set_ps_retry(50);
  EXPECT_EQ(error_of_hello(hello), "");
  EXPECT_EQ(error_of_message(Method::RegisterWorker, reading_function(2).SerializeAsString()), "");
  proto::RegisterWorkerProto refused = reading_function(1);
  refused.mutable_inputs(0)->set_name("v");
  refused.mutable_ps_pulls(0)->add_inputs(5);
  EXPECT_THAT(error_of_message(Method::RegisterWorker, refused.SerializeAsString()), HasSubstr("input=5"));
  proto::ClosureProto closure;
  closure.set_steps(1);
  Message request;
  request.head = {.method = Method::RunClosure, .job = kJob, .function = 0, .closure = 1};
  request.meta = closure.SerializeAsString();
  EXPECT_THAT(error_of([&] { task_.handle(request, reply_); }), HasSubstr("Unavailable"));
}

TEST_F(OneTask, ARepeatOfANewBeginningTakesNothingAway) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  proto::ReleaseProto beginning;
  beginning.set_generation(5);
  const auto begin = [&] { return error_of_message(Method::Release, beginning.SerializeAsString()); };
  const auto run = [&](std::uint64_t closure_id) {
    proto::ClosureProto closure;
    closure.set_steps(1);
    Message request;
    request.head = {.method = Method::RunClosure, .job = kJob, .function = 0, .closure = closure_id};
    request.meta = closure.SerializeAsString();
    return error_of([&] { task_.handle(request, reply_); });
  };
  proto::RegisterWorkerProto empty;
  ConstantTable constants;
  empty.add_stages()->set_graph(serialize(Graph(), constants));
  EXPECT_EQ(begin(), "");
  EXPECT_EQ(error_of_message(Method::RegisterWorker, empty.SerializeAsString()), "");
  EXPECT_EQ(run(1), "");
  EXPECT_EQ(begin(), "");  // it was late
  EXPECT_EQ(run(2), "");
  beginning.set_generation(6);
  EXPECT_EQ(begin(), "");
  EXPECT_THAT(run(3), HasSubstr("NotFound"));
}

// Strategies that share a cluster may use the same name one after the other.
TEST_F(OneTask, ACountedReleaseTakesAwayOnce) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  proto::CreateVariableProto variable;
  variable.set_name("w");
  write_spec({DType::Float32, {2}}, *variable.mutable_spec());
  ConstantTable constants;
  variable.set_initial(serialize(InitialValue::constant(1.0, {2}, DType::Float32).graph(), constants));
  proto::RegisterServerProto uses_it;
  uses_it.add_pulled("w");
  const auto is_there = [&] { return error_of_message(Method::RegisterServer, uses_it.SerializeAsString()).empty(); };
  const auto release = [&](std::uint64_t number) {
    proto::ReleaseProto releases;
    releases.add_variables("w");
    Message request;
    request.head = {.method = Method::Release, .job = kJob, .closure = number};
    request.meta = releases.SerializeAsString();
    return error_of([&] { task_.handle(request, reply_); });
  };
  EXPECT_EQ(error_of_message(Method::CreateVariable, variable.SerializeAsString()), "");
  EXPECT_TRUE(is_there());
  EXPECT_EQ(release(1), "");
  EXPECT_FALSE(is_there());
  EXPECT_EQ(error_of_message(Method::CreateVariable, variable.SerializeAsString()), "");
  EXPECT_EQ(release(1), "");  // it was late
  EXPECT_TRUE(is_there());
  EXPECT_EQ(release(2), "");
  EXPECT_FALSE(is_there());
}

TEST_F(OneTask, NamesAServerThatAFunctionRegisteredLaterHasLeftOut) {
  EXPECT_EQ(error_of_hello(hello_to("worker", 0)), "");
  EXPECT_EQ(error_of_message(Method::RegisterWorker, reading_function(2).SerializeAsString()), "");
  proto::RegisterWorkerProto fewer = reading_function(1);
  fewer.mutable_inputs(0)->set_name("v");
  Message request;
  request.head = {.method = Method::RegisterWorker, .job = kJob, .function = 1};
  request.meta = fewer.SerializeAsString();
  EXPECT_EQ(error_of([&] { task_.handle(request, reply_); }), "");
  proto::ClosureProto closure;
  closure.set_steps(1);
  request.head = {.method = Method::RunClosure, .job = kJob, .function = 0, .closure = 1};
  request.meta = closure.SerializeAsString();
  EXPECT_THAT(error_of([&] { task_.handle(request, reply_); }),
              AllOf(HasSubstr("InvalidArgument Server"), HasSubstr("server=1, servers=1")));
}

// Trains a little on a cluster of these tasks.
double train_graph(const WatchedCluster& cluster) {
  set_random_seed(4);
  const ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  Sequential model({layers::Dense(3), layers::Dropout(0.5), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 2});
  const Tensor x = Tensor::full({32, 4}, 0.5), y = Tensor::full({32, 2}, 1.0);
  return model
      .fit(datasets::from_tensor_slices(x, y).shuffle(8, {.seed = 2}).batch(4), {.epochs = 2, .verbose = 0})["loss"]
      .back();
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  void mutate(Message& message) {
    switch (below(8)) {
      case 0:
        return mutate_head(message.head);
      case 1:
        return mutate_parts(message.parts);
      default:
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) mutate_bytes(message.meta);
    }
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void mutate_bytes(std::string& bytes) {
    if (bytes.empty()) return bytes.push_back(static_cast<char>(random_()));
    const std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(4));
        break;
      case 3:
        bytes.insert(at, 1 + below(4), static_cast<char>(random_()));
        break;
      default:
        bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(30)));
    }
  }
  void mutate_head(Head& head) {
    std::uint64_t* fields[] = {&head.function, &head.step, &head.version, &head.incarnation, &head.sequence};
    if (below(3) == 0) head.flags = static_cast<std::uint16_t>(random_());
    if (below(3) == 0) head.round = static_cast<std::uint32_t>(random_());
    *fields[below(5)] = below(2) ? below(9) : random_();
  }
  void mutate_parts(Tensors& parts) {
    if (parts.empty() || below(4) == 0) {
      parts.push_back(Tensor::full({static_cast<std::int64_t>(below(4))}, 1.0, below(2) ? DType::Int64 : DType::Bool));
    } else if (below(3) == 0) {
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(below(parts.size())));
    } else {
      std::swap(parts[below(parts.size())], parts[below(parts.size())]);
      Tensor& part = parts[below(parts.size())];
      if (part.num_elements() > 1) part = part.view({part.num_elements()}).rows(0, part.num_elements() - 1);
    }
  }

  std::mt19937_64 random_;
};

// Real messages of a training, damaged, sent to the tasks that once took them: each is answered, and the tasks serve
// the next chief as if nothing had been.
TEST(DamagedMessages, AreAnsweredAndDoNoHarm) {
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}});
  const double expected = train_graph(cluster);
  cluster.keep_requests();
  train_graph(cluster);
  const std::vector<Seen> recorded = cluster.take_seen();
  std::map<std::string, std::unique_ptr<rpc::Stream>> tasks;
  for (const std::string& job : cluster.spec().jobs()) {
    for (const std::int64_t index : cluster.spec().task_indices(job)) {
      const std::string name = job + ":" + std::to_string(index);
      tasks[name] = rpc::connect({name, cluster.spec().task_address(job, index)})->open();
    }
  }
  Mutator mutator(1);
  std::mt19937 random(2);
  int answered = 0, refused = 0;
  Message reply;
  const auto send = [&](const Seen& seen, const Message& request) {
    try {
      tasks.at(seen.task)->call(request, reply);
      ++answered;
    } catch (const Error&) {
      ++refused;
    }
  };
  for (int round = 0; round < 60; ++round) {
    // Each message of the job as it was, and sometimes damaged before that.
    for (const Seen& seen : recorded) {
      if (seen.request.meta.empty() && seen.method != Method::Exchange) continue;
      if (seen.method == Method::EndJob) continue;
      if (seen.method != Method::Hello && random() % 2) {
        Message damaged = copy_of(seen.request);
        mutator.mutate(damaged);
        send(seen, damaged);
      }
      send(seen, seen.request);
    }
  }
  EXPECT_GT(answered, 1000);
  EXPECT_GT(refused, 500);
  cluster.take_seen();
  EXPECT_EQ(train_graph(cluster), expected);
}

}  // namespace
}  // namespace cohort::distribute::test
