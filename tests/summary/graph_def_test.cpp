#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/summary/event_writer.h"
#include "cohort/summary/graph_def.h"
#include "tests/summary/events_of.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

std::map<std::string, NodeDef> nodes_by_name(const GraphDef& def) {
  std::map<std::string, NodeDef> nodes;
  for (const NodeDef& node : def.node()) EXPECT_TRUE(nodes.emplace(node.name(), node).second) << node.name();
  return nodes;
}

TracedGraph two_layers() {
  return trace({{float32, {kUnknown, 4}}}, [](const Tensors& inputs) -> Tensors {
    Tensor x = inputs[0];
    for (const char* layer : {"first", "second"}) {
      const NameScope scope(layer);
      x = ops::exp(x + x);
    }
    return {x};
  });
}

TEST(GraphDef, KeepsNamesInputsAndShapes) {
  const GraphDef def = graph_def(*two_layers().graph);
  const auto nodes = nodes_by_name(def);
  ASSERT_THAT(nodes, testing::Contains(testing::Key("second/exp")));
  EXPECT_EQ(nodes.at("second/exp").op(), "Exp");
  EXPECT_THAT(nodes.at("second/exp").input(), testing::ElementsAre("second/add"));
  EXPECT_THAT(nodes.at("second/add").input(), testing::ElementsAre("first/exp", "first/exp"));
  const auto& shapes = nodes.at("first/exp").attr().at("_output_shapes").list();
  EXPECT_EQ(shapes.shape(0).dim(0).size(), -1);
  EXPECT_EQ(shapes.shape(0).dim(1).size(), 4);
  EXPECT_EQ(nodes.at("first/exp").attr().at("dtype").type(), 1);
  const auto inputs = std::count_if(def.node().begin(), def.node().end(),
                                    [](const NodeDef& node) { return node.op() == "Placeholder"; });
  EXPECT_EQ(inputs, 1);
}

TEST(GraphDef, EveryInputIsANode) {
  const TracedGraph traced = trace({{float32, {}}}, [](const Tensors& inputs) -> Tensors {
    return ops::cond(
        inputs[0] > 0.0, [&] { return Tensors{ops::exp(inputs[0])}; }, [&] { return Tensors{inputs[0]}; });
  });
  const auto nodes = nodes_by_name(graph_def(*traced.graph));
  std::size_t nested = 0;
  for (const auto& [name, node] : nodes) {
    nested += name.find('/') != std::string::npos ? 1 : 0;
    for (const std::string& input : node.input()) {
      EXPECT_THAT(nodes, testing::Contains(testing::Key(input.substr(0, input.find(':')))));
    }
  }
  EXPECT_GT(nested, 0u);
}

TEST(GraphDef, IsWrittenForTheRunAndForAProfiledStep) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.add_graph(*two_layers().graph);
  writer.add_run_graph("batch_3", *two_layers().graph, 3);
  writer.close();
  const std::vector<Event> events = events_of(writer.file_name());
  ASSERT_EQ(events.size(), 3u);
  GraphDef def;
  ASSERT_TRUE(def.ParseFromString(events[1].graph_def()));
  EXPECT_GE(def.node_size(), 5);
  const Summary::Value& value = events[2].summary().value(0);
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "graph_run_metadata_graph");
  EXPECT_EQ(value.metadata().plugin_data().content(), "1");
  RunMetadata run;
  ASSERT_TRUE(run.ParseFromString(value.tensor().string_val(0)));
  EXPECT_EQ(run.function_graphs(0).pre_optimization_graph().node_size(), def.node_size());
}

}  // namespace
}  // namespace cohort::summary
