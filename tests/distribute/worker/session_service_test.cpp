// What becomes of sessions whose clients go without a word.
#include "cohort/distribute/worker/session_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/distribute/protocol/typed_call.h"
#include "tests/support/error_of.h"
#include "tests/support/started_program.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::becomes_true;
using cohort::test::error_of;
using testing::HasSubstr;

class ForgottenSessions : public testing::Test {
 protected:
  template <Method M>
  std::string send(std::uint64_t session, const typename MetadataOf<M>::Request& metadata = {}, Tensors parts = {}) {
    return error_of([&] {
      Message request, reply;
      request.parts = std::move(parts);
      write_request<M>({.job = session, .incarnation = session}, metadata, request);
      service_.handle(request, reply);
    });
  }
  std::string open(std::uint64_t session) {
    proto::OpenSessionProto metadata;
    metadata.set_protocol(kProtocolVersion);
    return send<Method::OpenSession>(session, metadata);
  }
  bool is_open(std::uint64_t session) { return send<Method::RunSession>(session).empty(); }

  const ClusterSpec cluster_{{"worker", {"127.0.0.1:1"}}};
  SessionService service_{cluster_, "worker", 0, 42, {}, {.limits = {.sessions = 3}, .gone_after = 100ms}};
};

TEST_F(ForgottenSessions, AreClosedAWhileAfterTheirClientsLastWayHere) {
  for (const std::uint64_t client : {7, 7, 8}) service_.caller_came(client);
  EXPECT_EQ(open(7), "");
  EXPECT_EQ(open(8), "");
  service_.caller_left(7);
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(is_open(7));  // one way is left
  service_.caller_left(7);
  EXPECT_TRUE(becomes_true([&] { return !is_open(7); }));
  EXPECT_THAT(send<Method::RunSession>(7), HasSubstr("Aborted worker:0"));
  EXPECT_TRUE(is_open(8));
}

TEST_F(ForgottenSessions, AClientThatComesBackInTimeKeepsIts) {
  service_.caller_came(7);
  EXPECT_EQ(open(7), "");
  service_.caller_left(7);
  service_.caller_came(7);
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(is_open(7));
}

TEST_F(ForgottenSessions, PartsGoAWhileAfterTheirMaster) {
  Graph graph;
  const Value x = graph.add(find_op("Input"), {}, {{"dtype", DType::Float32}, {"shape", Shape()}});
  graph.inputs = {x.node};
  graph.outputs = {graph.add(find_op("Add"), {x, x}, {})};
  proto::RegisterPartProto part;
  ConstantTable constants;
  part.set_graph(serialize(graph, constants));
  part.set_device("CPU:0");
  service_.caller_came(7);
  EXPECT_EQ(send<Method::RegisterPart>(7, part), "");
  const auto run = [&] { return send<Method::RunPart>(7, {}, {Tensor::full({}, 1)}); };
  EXPECT_EQ(run(), "");
  EXPECT_THAT(send<Method::RunPart>(7), HasSubstr("expected=1"));  // without its input
  service_.caller_left(7);
  EXPECT_TRUE(becomes_true([&] { return !run().empty(); }));
  EXPECT_THAT(run(), HasSubstr("open another session"));
  part.set_device("TEST:99");
  EXPECT_THAT(send<Method::RegisterPart>(7, part), HasSubstr("device=TEST:99"));
}

TEST_F(ForgottenSessions, ThereAreOnlySoManyAndThoseOfNobodyGo) {
  for (const std::uint64_t client : {1, 2, 3}) EXPECT_EQ(open(client), "");
  EXPECT_THAT(open(4), HasSubstr("ResourceExhausted"));
  EXPECT_TRUE(becomes_true([&] { return open(4).empty(); }));
}

}  // namespace
}  // namespace cohort::distribute
