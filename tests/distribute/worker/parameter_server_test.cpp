#include "cohort/distribute/worker/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/initial_value.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kFunction = 4;

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

// delta, variable -> variable after variable += delta; without a delta only the variable.
Graph adding_graph(bool adds) {
  Graph graph;
  Value delta;
  if (adds) {
    delta = graph.add(find_op("Input"), {}, {{"dtype", DType::Float32}, {"shape", Shape({2})}});
    graph.inputs.push_back(delta.node);
  }
  const Value variable = graph.add(find_op("Input"), {}, {{"dtype", DType::Resource}, {"shape", Shape()}});
  graph.inputs.push_back(variable.node);
  if (adds) {
    graph.add(find_op("AssignAddVariable"), {variable, delta}, {{"dtype", DType::Float32}, {"shape", Shape({2})}});
  }
  graph.outputs.push_back(
      graph.add(find_op("ReadVariable"), {variable}, {{"dtype", DType::Float32}, {"shape", Shape({2})}}));
  return graph;
}

class OneVariable : public testing::Test {
 protected:
  OneVariable() {
    create(variable_of("w", InitialValue::constant(1.0, {2}, DType::Float32)));
    ConstantTable constants;
    proto::RegisterServerProto meta;
    proto::ServerPartProto& part = *meta.add_parts();
    part.set_graph(serialize(adding_graph(true), constants));
    part.add_resources("w");
    part.set_writes(true);
    meta.set_pull(serialize(adding_graph(false), constants));
    meta.add_pulled("w");
    Message request = message(Method::RegisterServer, meta.SerializeAsString());
    request.head.function = kFunction;
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
    reply_.head.flags = 0;
    answer(request, reply_, server_, &ParameterServer::exchange);
    return reply_;
  }

  ConstantStore constants_;
  ParameterServer server_{constants_};
  Message reply_;
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
  EXPECT_EQ(first.head.flags & kUnchanged, 0);
  EXPECT_THAT(first.parts.at(0).to_vector<float>(), ElementsAre(1, 1));
  const std::uint64_t version = first.head.version;
  EXPECT_EQ(pull(version).head.flags & kUnchanged, kUnchanged);
  EXPECT_TRUE(reply_.parts.empty());
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
  meta.set_graph(serialize(adding_graph(true), constants));
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
  meta.add_parts()->set_graph(serialize(adding_graph(true), constants));
  meta.mutable_parts(0)->add_resources("nobody");
  request = message(Method::RegisterServer, meta.SerializeAsString());
  EXPECT_THAT(error_of([&] { answer(request, reply_, server_, &ParameterServer::register_function); }),
              HasSubstr("variable=nobody"));
}

}  // namespace
}  // namespace cohort::distribute
