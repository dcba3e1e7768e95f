#include "cohort/distribute/worker/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>

#include "cohort/core/kernel.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/initial_value.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kFunction = 4;

// Where the kernel of the op below waits.
struct Gate {
  void close() {
    closed = true;
    waiting = false;
  }
  void open() { closed = false; }
  void pass() {
    waiting = true;
    while (closed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void wait_for_somebody() const {
    while (!waiting) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::atomic<bool> closed = false, waiting = false;
};
Gate gate;

KernelFn make_waiting_copy(const KernelSpec& spec) {
  return [count = spec.input_size(0)](const KernelIO& io) {
    gate.pass();
    std::copy_n(io.in<float>(0), count, io.out<float>(0));
  };
}
COHORT_OP("ParameterServerTestWait").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
COHORT_KERNEL("ParameterServerTestWait", kCPU, make_waiting_copy);

Message message(Method method, std::string meta) {
  Message request;
  request.head.method = method;
  request.meta = std::move(meta);
  return request;
}

proto::CreateVariableProto variable_of(const std::string& name, const InitialValue& initial) {
  proto::CreateVariableProto meta;
  ConstantTable constants;
  meta.set_name(name);
  meta.mutable_spec()->set_dtype(static_cast<int>(initial.spec().dtype));
  write_shape(initial.spec().shape, *meta.mutable_spec()->mutable_shape());
  meta.set_initial(serialize(initial.graph(), constants));
  return meta;
}

const Attributes kPair{{"dtype", DType::Float32}, {"shape", Shape({2})}};

Value add_input(Graph& graph, const TensorSpec& spec) {
  const Value input = graph.add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}});
  graph.inputs.push_back(input.node);
  return input;
}

// delta, variable -> variable += delta; perhaps with the variable's value after that.
Graph adding_graph(bool reads = false) {
  Graph graph;
  const Value delta = add_input(graph, {DType::Float32, {2}}), variable = add_input(graph, {DType::Resource, {}});
  graph.add(find_op("AssignAddVariable"), {variable, delta}, kPair);
  if (reads) graph.outputs.push_back(graph.add(find_op("ReadVariable"), {variable}, kPair));
  return graph;
}

class OneVariable : public testing::Test {
 protected:
  OneVariable() {
    create(variable_of("w", InitialValue::constant(1.0, {2}, DType::Float32)));
    ConstantTable constants;
    proto::RegisterServerProto meta;
    proto::ServerPartProto& part = *meta.add_parts();
    part.set_graph(serialize(adding_graph(), constants));
    part.add_resources("w");
    part.set_writes(true);
    part.add_fresh("w");
    meta.add_pulled("w");
    register_function(kFunction, meta);
  }

  void register_function(std::uint64_t handle, const proto::RegisterServerProto& meta) {
    Message request = message(Method::RegisterServer, meta.SerializeAsString());
    request.head.function = handle;
    answer(request, reply_, server_, &ParameterServer::register_function);
  }

  void create(const proto::CreateVariableProto& variable) {
    answer(message(Method::CreateVariable, variable.SerializeAsString()), reply_, server_,
           &ParameterServer::create_variable);
  }
  // What the server answers to a push.
  std::vector<float> push(std::uint64_t closure, std::uint64_t step, float delta, std::uint64_t all_done_below = 0) {
    Message request = message(Method::Exchange, {});
    request.head.function = kFunction;
    request.head.epoch = epoch_;
    request.head.closure = closure;
    request.head.step = step;
    request.head.all_done_below = all_done_below;
    request.parts = {Tensor::of<float>({delta, 2 * delta}, {2})};
    answer(request, reply_, server_, &ParameterServer::exchange);
    return reply_.parts.at(0).to_vector<float>();
  }
  Message& pull(std::uint64_t version) {
    Message request = message(Method::Exchange, {});
    request.head.function = kFunction;
    request.head.flags = kPull;
    request.head.version = version;
    answer(request, reply_, server_, &ParameterServer::exchange);
    return reply_;
  }

  ConstantStore constants_;
  ParameterServer server_{constants_};
  Message reply_;
  std::uint64_t epoch_ = 0;
};

TEST_F(OneVariable, APushIsAppliedAndAnswered) {
  EXPECT_THAT(push(1, 0, 1.0f), ElementsAre(2, 3));
  EXPECT_THAT(push(1, 1, 1.0f), ElementsAre(3, 5));
  EXPECT_THAT(push(2, 0, -1.0f), ElementsAre(2, 3));
}

TEST_F(OneVariable, ARepeatIsAnsweredWithPresentValuesAndNotApplied) {
  EXPECT_THAT(push(1, 0, 1.0f), ElementsAre(2, 3));
  EXPECT_THAT(push(2, 0, 10.0f), ElementsAre(12, 23));
  const std::uint64_t version = reply_.head.version;
  EXPECT_THAT(push(1, 0, 1.0f), ElementsAre(12, 23));
  EXPECT_EQ(reply_.head.version, version);
  EXPECT_THAT(push(3, 0, 0.0f, 3), ElementsAre(12, 23));
  EXPECT_THAT(push(1, 7, 1.0f), ElementsAre(12, 23));  // of a closure that has finished
}

TEST_F(OneVariable, APushOfAnEarlierEpochIsRefused) {
  epoch_ = 3;
  push(1, 0, 1);
  Message fence = message(Method::Fence, {});
  fence.head.epoch = 4;
  answer(fence, reply_, server_, &ParameterServer::fence);
  fence.head.epoch = 2;
  answer(fence, reply_, server_, &ParameterServer::fence);
  EXPECT_THAT(error_of([&] { push(1, 1, 1); }), HasSubstr("Cancelled"));
  epoch_ = 4;
  EXPECT_THAT(push(1, 1, 1), ElementsAre(3, 5));
}

TEST_F(OneVariable, APushThatFailedMayComeAgain) {
  Message request = message(Method::Exchange, {});
  request.head.function = kFunction;
  request.head.closure = 1;
  request.parts = {Tensor::of<float>({1, 2, 3}, {3})};
  EXPECT_NE(error_of([&] { answer(request, reply_, server_, &ParameterServer::exchange); }), "");
  request.parts = {Tensor::of<std::int64_t>({1, 2}, {2})};
  EXPECT_NE(error_of([&] { answer(request, reply_, server_, &ParameterServer::exchange); }), "");
  request.parts = {};
  EXPECT_THAT(error_of([&] { answer(request, reply_, server_, &ParameterServer::exchange); }),
              HasSubstr("parts=0, expected=1"));
  EXPECT_THAT(push(1, 0, 1.0f), ElementsAre(2, 3));
}

TEST_F(OneVariable, APullBringsOnlyWhatIsNewer) {
  Message& first = pull(0);
  EXPECT_THAT(first.parts.at(0).to_vector<float>(), ElementsAre(1, 1));
  const std::uint64_t version = first.head.version;
  EXPECT_TRUE(pull(version).parts.empty());
  EXPECT_EQ(reply_.head.version, version);
  push(1, 0, 1.0f);
  EXPECT_GT(reply_.head.version, version);
  EXPECT_THAT(pull(version).parts.at(0).to_vector<float>(), ElementsAre(2, 3));
}

// Values that were sent belong to whoever got them.
TEST_F(OneVariable, AnAnswerDoesNotChangeAfterwards) {
  push(1, 0, 1.0f);
  const Tensor kept = reply_.parts.at(0);
  Message other;
  std::swap(other, reply_);
  push(2, 0, 1.0f);
  EXPECT_THAT(kept.to_vector<float>(), ElementsAre(2, 3));
}

TEST_F(OneVariable, AVariableThatIsThereIsAdopted) {
  push(1, 0, 1.0f);
  const auto again = [&](const Shape& shape, DType dtype) {
    return error_of([&] { create(variable_of("w", InitialValue::constant(9.0, shape, dtype))); });
  };
  EXPECT_EQ(again({2}, DType::Float32), "");
  EXPECT_THAT(pull(0).parts.at(0).to_vector<float>(), ElementsAre(2, 3));
  EXPECT_THAT(again({3}, DType::Float32), HasSubstr("variable=w"));
  EXPECT_THAT(again({2}, DType::Float64), HasSubstr("variable=w"));
}

TEST_F(OneVariable, TheChiefsWritesAreNotRepeatedEither) {
  ConstantTable constants;
  proto::RunGraphProto meta;
  meta.set_graph(serialize(adding_graph(/*reads=*/true), constants));
  meta.add_inputs("");
  meta.add_inputs("w");
  meta.set_writes(true);
  Message request = message(Method::RunGraph, meta.SerializeAsString());
  request.parts = {Tensor::of<float>({5, 5}, {2})};
  for (const std::uint64_t number : {1, 1, 2, 2, 1}) {
    request.head.closure = number;
    answer(request, reply_, server_, &ParameterServer::run_graph);
  }
  EXPECT_THAT(reply_.parts.at(0).to_vector<float>(), ElementsAre(11, 11));
}

TEST_F(OneVariable, NamesWhatIsNotThere) {
  Message request = message(Method::Exchange, {});
  request.head.function = 77;
  EXPECT_THAT(error_of([&] { answer(request, reply_, server_, &ParameterServer::exchange); }), HasSubstr("NotFound"));
  request.head.function = kFunction;
  request.head.round = 1;
  EXPECT_THAT(error_of([&] { answer(request, reply_, server_, &ParameterServer::exchange); }),
              HasSubstr("round=1, rounds=1"));
  proto::RegisterServerProto meta;
  ConstantTable constants;
  meta.add_parts()->set_graph(serialize(adding_graph(), constants));
  meta.mutable_parts(0)->add_resources("nobody");
  request = message(Method::RegisterServer, meta.SerializeAsString());
  EXPECT_THAT(error_of([&] { answer(request, reply_, server_, &ParameterServer::register_function); }),
              HasSubstr("variable=nobody"));
}

TEST_F(OneVariable, AReleasedVariableLivesOnInFunctionsThatUseIt) {
  proto::ReleaseProto releases;
  releases.add_variables("w");
  releases.add_variables("nobody");
  server_.release(releases);
  EXPECT_THAT(push(1, 0, 1.0f), ElementsAre(2, 3));
  // By its name it is another one from now on.
  create(variable_of("w", InitialValue::constant(7.0, {3}, DType::Float32)));
  EXPECT_THAT(push(1, 1, 1.0f), ElementsAre(3, 5));
  releases.Clear();
  releases.add_functions(kFunction);
  releases.add_functions(77);
  server_.release(releases);
  EXPECT_THAT(error_of([&] { push(1, 2, 1.0f); }), HasSubstr("NotFound"));
}

// The value that a variable begins with is not kept beside it.
TEST_F(OneVariable, ConstantsOfAnInitialValueAreNotKept) {
  const InitialValue initial = InitialValue(Tensor::full({100}, 3.0));
  ConstantTable constants;
  proto::CreateVariableProto meta = variable_of("v", initial);
  meta.set_initial(serialize(initial.graph(), constants));
  ASSERT_EQ(constants.tensors.size(), 1u);
  meta.mutable_constants()->add_hashes(constants.tensors[0].first);
  Message request = message(Method::CreateVariable, meta.SerializeAsString());
  request.parts = {constants.tensors[0].second};
  answer(request, reply_, server_, &ParameterServer::create_variable);
  EXPECT_EQ(constants_.size(), 0u);
}

// Variables of one shape; a function adds what is pushed to all that it writes to.
class SeveralVariables : public testing::Test {
 protected:
  void create(const std::string& name) {
    Message reply;
    const auto variable = variable_of(name, InitialValue::constant(1.0, shape_, DType::Float32));
    answer(message(Method::CreateVariable, variable.SerializeAsString()), reply, server_,
           &ParameterServer::create_variable);
  }
  void register_function(std::uint64_t handle, const Graph& graph, const std::vector<std::string>& written,
                         const std::vector<std::string>& fresh) {
    ConstantTable constants;
    proto::RegisterServerProto meta;
    proto::ServerPartProto& part = *meta.add_parts();
    part.set_graph(serialize(graph, constants));
    part.set_writes(true);
    for (const std::string& name : written) part.add_resources(name);
    for (const std::string& name : fresh) part.add_fresh(name);
    for (const std::string& name : fresh) meta.add_pulled(name);
    Message request = message(Method::RegisterServer, meta.SerializeAsString()), reply;
    request.head.function = handle;
    answer(request, reply, server_, &ParameterServer::register_function);
  }
  void register_adding(std::uint64_t handle, const std::vector<std::string>& written,
                       const std::vector<std::string>& fresh) {
    Graph graph;
    const Value delta = add_input(graph, {DType::Float32, shape_});
    for (std::size_t i = 0; i < written.size(); ++i) {
      graph.add(find_op("AssignAddVariable"), {add_input(graph, {DType::Resource, {}}), delta},
                {{"dtype", DType::Float32}, {"shape", shape_}});
    }
    register_function(handle, graph, written, fresh);
  }
  // One that waits at the gate before it adds.
  void register_waiting(std::uint64_t handle, const std::string& variable) {
    Graph graph;
    const Value delta = add_input(graph, {DType::Float32, shape_});
    const Value resource = add_input(graph, {DType::Resource, {}});
    const Value waited = graph.add(find_op("ParameterServerTestWait"), {delta}, {});
    graph.add(find_op("AssignAddVariable"), {resource, waited}, {{"dtype", DType::Float32}, {"shape", shape_}});
    register_function(handle, graph, {variable}, {variable});
  }
  Message exchange(const Head& head, Tensors parts) {
    Message request, reply;
    request.head = head;
    request.parts = std::move(parts);
    answer(request, reply, server_, &ParameterServer::exchange);
    return reply;
  }
  Message push(std::uint64_t function, std::uint64_t closure, std::uint64_t version, float delta = 1.0f) {
    return exchange({.function = function, .closure = closure, .version = version}, {Tensor::full(shape_, delta)});
  }
  Message pull(std::uint64_t function, std::uint64_t version = 0) {
    return exchange({.flags = kPull, .function = function, .version = version}, {});
  }
  // By the chief, as every other write of it.
  std::uint64_t assign(const std::string& name, float value) {
    Graph graph;
    const Value to = add_input(graph, {DType::Float32, {2}}), variable = add_input(graph, {DType::Resource, {}});
    graph.add(find_op("AssignVariable"), {variable, to}, kPair);
    ConstantTable constants;
    proto::RunGraphProto meta;
    meta.set_graph(serialize(graph, constants));
    meta.add_inputs("");
    meta.add_inputs(name);
    meta.set_writes(true);
    Message request = message(Method::RunGraph, meta.SerializeAsString()), reply;
    request.parts = {Tensor::of<float>({value, value}, {2})};
    request.head.closure = ++runs_;
    answer(request, reply, server_, &ParameterServer::run_graph);
    return reply.head.version;
  }

  ConstantStore constants_;
  ParameterServer server_{constants_};
  Shape shape_{2};
  std::uint64_t runs_ = 0;
};

float first_of(const Message& reply, std::size_t part) { return reply.parts.at(part).to_vector<float>()[0]; }

TEST_F(SeveralVariables, AReplyBringsWhatWasWrittenSinceTheWorkersVersion) {
  for (const char* name : {"head", "frozen"}) create(name);
  register_adding(1, {"head"}, {"head", "frozen"});
  register_adding(2, {"frozen"}, {"frozen"});
  const Message first = pull(1);
  EXPECT_EQ(first.parts.size(), 2u);
  const Message second = push(1, 1, first.head.version);
  ASSERT_EQ(second.parts.size(), 1u);  // frozen is as it was
  EXPECT_EQ(first_of(second, 0), 2.0f);
  // A worker that has not heard for long gets both.
  EXPECT_EQ(push(1, 2, 0).parts.size(), 2u);
  // The chief's write, and another function's, come with the next reply.
  const std::uint64_t written = assign("frozen", 7.0f);
  const Message third = push(1, 3, second.head.version);
  ASSERT_EQ(third.parts.size(), 2u);
  EXPECT_EQ(first_of(third, 1), 7.0f);
  EXPECT_GE(third.head.version, written);
  push(2, 4, 0);
  const Message fourth = pull(1, third.head.version);
  ASSERT_EQ(fourth.parts.size(), 2u);
  EXPECT_FALSE(fourth.parts[0].defined());
  EXPECT_EQ(first_of(fourth, 1), 8.0f);
  EXPECT_TRUE(pull(1, fourth.head.version).parts.empty());
  // A repeat brings what is newer than the version it came with, too.
  EXPECT_EQ(push(1, 3, second.head.version).parts.size(), 2u);
}

// Two tables, each of which rows are added to: (values, indices, indices too).
Graph graph_of_two_tables() {
  Graph graph;
  const Value values = add_input(graph, {DType::Float32, {kUnknown}});
  const Value first = add_input(graph, {DType::Int64, {kUnknown}}),
              second = add_input(graph, {DType::Int64, {kUnknown}});
  const Value one = add_input(graph, {DType::Resource, {}}), two = add_input(graph, {DType::Resource, {}});
  graph.add(find_op("ScatterAddVariable"), {one, first, values}, kPair);
  graph.add(find_op("ScatterAddVariable"), {two, second, values}, kPair);
  return graph;
}

TEST_F(SeveralVariables, ABundleWithABadRowChangesNothing) {
  for (const char* name : {"one", "two"}) create(name);
  register_function(1, graph_of_two_tables(), {"one", "two"}, {"one", "two"});
  const auto add = [&](std::vector<std::int64_t> first, std::vector<std::int64_t> second) {
    const auto count = static_cast<std::int64_t>(first.size());
    return exchange({.function = 1, .closure = 1},
                    {Tensor::full({count}, 1.0), Tensor::of(first, {count}), Tensor::of(second, {count})});
  };
  const std::uint64_t version = pull(1).head.version;
  for (const std::int64_t bad : {std::int64_t{2}, std::int64_t{-1}}) {
    EXPECT_THAT(error_of([&] { add({0, 1}, {0, bad}); }), HasSubstr("row=" + std::to_string(bad)));
    EXPECT_THAT(error_of([&] { add({0, bad}, {0, 1}); }), HasSubstr("rows=2"));
  }
  EXPECT_TRUE(pull(1, version).parts.empty());
  for (const Tensor& value : pull(1).parts) EXPECT_THAT(value.to_vector<float>(), ElementsAre(1, 1));
  // It may come again, and is new then.
  const Message reply = add({0, 1}, {1, 1});
  EXPECT_THAT(reply.parts.at(0).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(reply.parts.at(1).to_vector<float>(), ElementsAre(1, 3));
}

// delta -> w += delta, then a check of what came out.
TEST_F(SeveralVariables, ABundleWhoseCheckFailsAfterAWriteChangesNothing) {
  create("w");
  Graph graph;
  const Value delta = add_input(graph, {DType::Float32, {2}}), variable = add_input(graph, {DType::Resource, {}});
  graph.add(find_op("AssignAddVariable"), {variable, delta}, kPair);
  const Value after = graph.add(find_op("ReadVariable"), {variable}, kPair);
  graph.add(find_op("CheckNumerics"), {after}, {{"message", "w"}});
  register_function(1, graph, {"w"}, {"w"});
  EXPECT_EQ(first_of(push(1, 1, 0), 0), 2.0f);
  EXPECT_THAT(error_of([&] { push(1, 2, 0, std::numeric_limits<float>::infinity()); }), HasSubstr("CheckNumerics"));
  EXPECT_EQ(first_of(pull(1), 0), 2.0f);
  EXPECT_EQ(first_of(push(1, 2, 0), 0), 3.0f);
}

// Functions over sets of variables that overlap, and one apart, pushed by many threads: nothing is lost, and what a
// reply shows of a bundle's variables belongs together.
class BundlesOfManyThreads : public SeveralVariables, public testing::WithParamInterface<std::int64_t> {};

TEST_P(BundlesOfManyThreads, AreWhole) {
  shape_ = {GetParam()};
  for (const char* name : {"a", "b", "c", "d"}) create(name);
  const std::vector<std::vector<std::string>> sets{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"d"}};
  for (std::size_t i = 0; i < sets.size(); ++i) register_adding(i + 1, sets[i], sets[i]);
  constexpr int kThreadsEach = 2, kPushes = 200;
  std::atomic<std::uint64_t> closure = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (int k = 0; k < kThreadsEach; ++k) {
      threads.emplace_back([&, function = i + 1] {
        for (int push_number = 0; push_number < kPushes; ++push_number) {
          const Message reply = push(function, ++closure, 0);
          for (const Tensor& part : reply.parts) {
            const std::vector<float> value = part.to_vector<float>();
            EXPECT_EQ(value.front(), value.back());
          }
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t function = 1; function <= 3; ++function) {
    EXPECT_EQ(first_of(pull(function), 0), 1.0f + 2 * kThreadsEach * kPushes) << function;
  }
  EXPECT_EQ(first_of(pull(4), 0), 1.0f + kThreadsEach * kPushes);
}

// Few numbers, which are added at once, and many, which others need not wait for.
INSTANTIATE_TEST_SUITE_P(Sizes, BundlesOfManyThreads, testing::Values(2, 20'000));

// While one bundle is being applied another that uses other variables is, too; one that uses the same waits.
TEST_F(SeveralVariables, ALongBundleHoldsUpOnlyThoseOfItsVariables) {
  shape_ = {20'000};
  for (const char* name : {"slow", "other"}) create(name);
  register_waiting(1, "slow");
  register_adding(2, {"other"}, {"other"});
  register_adding(3, {"slow"}, {"slow"});
  gate.close();
  std::atomic<bool> late_is_answered = false;
  std::thread slow([&] { EXPECT_EQ(first_of(push(1, 1, 0), 0), 2.0f); });
  gate.wait_for_somebody();
  std::thread late([&] {
    EXPECT_EQ(first_of(push(3, 2, 0), 0), 3.0f);
    late_is_answered = true;
  });
  for (std::uint64_t closure = 3; closure < 23; ++closure) push(2, closure, 0);
  EXPECT_EQ(first_of(pull(2), 0), 21.0f);
  EXPECT_FALSE(late_is_answered);
  gate.open();
  slow.join();
  late.join();
}

// It waits for what it refuses from now on, and for nothing later.
TEST_F(SeveralVariables, AFenceWaitsForBundlesOfEarlierEpochs) {
  shape_ = {20'000};
  create("slow");
  register_waiting(1, "slow");
  const auto fence = [&](std::uint64_t epoch) {
    return std::async(std::launch::async, [this, epoch] {
      Message request = message(Method::Fence, {}), reply;
      request.head.epoch = epoch;
      answer(request, reply, server_, &ParameterServer::fence);
    });
  };
  gate.close();
  std::thread slow([&] { exchange({.function = 1, .closure = 1, .epoch = 5}, {Tensor::full(shape_, 1.0f)}); });
  gate.wait_for_somebody();
  const auto present = fence(5);
  EXPECT_EQ(present.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  const auto later = fence(6);
  EXPECT_EQ(later.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  gate.open();
  slow.join();
  later.wait();
}

// Who applies it has it, and it its variables.
TEST_F(SeveralVariables, ABundleUnderWayOutlivesItsRelease) {
  shape_ = {20'000};
  create("slow");
  register_waiting(1, "slow");
  gate.close();
  std::thread slow([&] { EXPECT_EQ(first_of(push(1, 1, 0), 0), 2.0f); });
  gate.wait_for_somebody();
  proto::ReleaseProto releases;
  releases.add_functions(1);
  releases.add_variables("slow");
  server_.release(releases);
  EXPECT_THAT(error_of([&] { pull(1); }), HasSubstr("NotFound"));
  gate.open();
  slow.join();
}

TEST(ParameterServerMemory, WhatIsReleasedIsFreeOnceNoFunctionUsesIt) {
  ConstantStore constants;
  ParameterServer server(constants, 1 << 20);
  Message reply;
  const auto create = [&](const std::string& name) {
    const auto variable = variable_of(name, InitialValue::constant(1.0, {200'000}, DType::Float32));
    return error_of([&] {
      answer(message(Method::CreateVariable, variable.SerializeAsString()), reply, server,
             &ParameterServer::create_variable);
    });
  };
  EXPECT_EQ(create("one"), "");
  proto::RegisterServerProto meta;
  meta.add_pulled("one");
  Message request = message(Method::RegisterServer, meta.SerializeAsString());
  request.head.function = kFunction;
  answer(request, reply, server, &ParameterServer::register_function);
  proto::ReleaseProto releases;
  releases.add_variables("one");
  server.release(releases);
  EXPECT_THAT(create("two"), HasSubstr("ResourceExhausted"));
  releases.Clear();
  releases.add_functions(kFunction);
  server.release(releases);
  EXPECT_EQ(create("two"), "");
  EXPECT_THAT(create("three"), HasSubstr("ResourceExhausted"));
}

TEST(ParameterServerMemory, AVariableThatThereIsNoMemoryForIsRefusedByName) {
  ConstantStore constants;
  ParameterServer server(constants, 1 << 20);
  Message reply;
  const auto create = [&](const std::string& name, const Shape& shape) {
    const auto variable = variable_of(name, InitialValue::constant(1.0, shape, DType::Float32));
    return error_of([&] {
      answer(message(Method::CreateVariable, variable.SerializeAsString()), reply, server,
             &ParameterServer::create_variable);
    });
  };
  EXPECT_EQ(create("fits", {100'000}), "");
  EXPECT_THAT(create("table", {200'000}),
              AllOf(HasSubstr("ResourceExhausted"), HasSubstr("variable=table, bytes=800000, free=648576")));
  EXPECT_EQ(create("fits", {100'000}), "");  // as before
  EXPECT_EQ(create("fits too", {150'000}), "");
  // What no machine has, and what no number holds.
  ParameterServer unlimited(constants);
  const auto huge = [&](const Shape& shape) {
    auto variable = variable_of("huge", InitialValue::constant(1.0, {2}, DType::Float32));
    variable.mutable_spec()->clear_shape();
    write_shape(shape, *variable.mutable_spec()->mutable_shape());
    return error_of([&] {
      answer(message(Method::CreateVariable, variable.SerializeAsString()), reply, unlimited,
             &ParameterServer::create_variable);
    });
  };
  EXPECT_THAT(huge({std::int64_t{1} << 40, 16}), AllOf(HasSubstr("variable=huge"), HasSubstr("bytes=70368744177664")));
  EXPECT_NE(huge({std::int64_t{1} << 40, std::int64_t{1} << 40}), "");
}

}  // namespace
}  // namespace cohort::distribute
