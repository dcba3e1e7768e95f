#include "cohort/graph/graph_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/graph/executable.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

// x -> twice = x + x -> square = twice * twice; and a lone node that needs y.
struct Example {
  Example() {
    x = input("x");
    y = input("y");
    twice = graph.add(find_op("Add"), {x, x}, {}, "twice");
    square = graph.add(find_op("Multiply"), {twice, twice}, {}, "square");
    sum = graph.add(find_op("Add"), {square, y}, {}, "sum");
  }
  Value input(const char* name) {
    const Value value = graph.add(find_op("Input"), {}, {{"dtype", DType::Float32}, {"shape", Shape({})}}, name);
    graph.inputs.push_back(value.node);
    return value;
  }
  Graph graph;
  Value x, y, twice, square, sum;
};

// Runs the parts in their order, whatever their places.
Tensors run_parts(const GraphParts& cut, const Tensors& inputs) {
  Tensors slots(static_cast<std::size_t>(cut.slots));
  const auto value = [&](int reference) {
    return reference >= 0 ? inputs[static_cast<std::size_t>(reference)] : slots[static_cast<std::size_t>(~reference)];
  };
  for (const PlacedPart& part : cut.parts) {
    Tensors given, results(part.results.size());
    for (int reference : part.values) given.push_back(value(reference));
    ExecutableCache(std::make_shared<Graph>(part.graph)).run(given, results, {}, cpu());
    for (std::size_t i = 0; i < results.size(); ++i) slots[static_cast<std::size_t>(part.results[i])] = results[i];
  }
  Tensors outputs;
  for (int reference : cut.outputs) outputs.push_back(value(reference));
  return outputs;
}

Tensor number(float value) { return Tensor::full({}, value, DType::Float32, cpu()); }

TEST(NeededPart, HasOnlyWhatFetchesNeed) {
  const Example example;
  std::vector<int> inputs;
  const Graph part =
      needed_part(example.graph, {.fetches = {example.square}, .targets = {}, .feeds = {example.x}}, inputs);
  EXPECT_EQ(part.nodes.size(), 3u);
  EXPECT_TRUE(inputs.empty());
}

TEST(NeededPart, AnyValueMayBeFed) {
  const Example example;
  std::vector<int> inputs;
  const Graph part = needed_part(
      example.graph, {.fetches = {example.square, example.twice}, .targets = {}, .feeds = {example.twice}}, inputs);
  const GraphParts cut = cut_by_place(part, std::vector<int>{kAnyPlace, 0});
  const Tensors results = run_parts(cut, {number(3)});
  EXPECT_EQ(results[0].item<float>(), 9.0f);
  EXPECT_EQ(results[1].item<float>(), 3.0f);
}

TEST(NeededPart, PlaceholdersMustBeFed) {
  const Example example;
  std::vector<int> inputs;
  EXPECT_THAT(error_of([&] {
                needed_part(example.graph, {.fetches = {example.sum}, .targets = {}, .feeds = {example.x}}, inputs);
              }),
              HasSubstr("y: a placeholder must be fed"));
  EXPECT_THAT(error_of([&] {
                needed_part(example.graph, {.fetches = {{99, 0}}, .targets = {}, .feeds = {}}, inputs);
              }),
              HasSubstr("node=99"));
}

TEST(CutByPlace, GivesTheSameInOnePlaceAndInMany) {
  const Example example;
  std::vector<int> inputs;
  const Graph part = needed_part(
      example.graph, {.fetches = {example.sum, example.twice}, .targets = {}, .feeds = {example.x, example.y}}, inputs);
  const std::vector<std::vector<int>> placements = {
      {-1, -1, 0, 0, 0}, {-1, -1, 0, 1, 0}, {-1, -1, 2, 1, 0}, {-1, -1, 1, 1, 2}};
  for (const std::vector<int>& places : placements) {
    const Tensors results = run_parts(cut_by_place(part, places), {number(2), number(5)});
    EXPECT_EQ(results[0].item<float>(), 21.0f);
    EXPECT_EQ(results[1].item<float>(), 4.0f);
  }
  EXPECT_EQ(cut_by_place(part, placements[0]).parts.size(), 1u);
  EXPECT_EQ(cut_by_place(part, placements[1]).parts.size(), 3u);
  EXPECT_EQ(cut_by_place(part, placements[1]).parts.back().round, 2);
}

// What one place does at a variable keeps its order though a value comes from elsewhere in between.
TEST(CutByPlace, KeepsTheOrderAtAResource) {
  Graph graph;
  const Value variable = graph.add(find_op("Input"), {}, {{"dtype", DType::Resource}, {"shape", Shape({})}}, "v");
  graph.inputs.push_back(variable.node);
  const Attributes of_variable = {{"dtype", DType::Float32}, {"shape", Shape({})}};
  const Value before = graph.add(find_op("ReadVariable"), {variable}, of_variable, "before");
  const Value doubled = graph.add(find_op("Add"), {before, before}, {}, "doubled");
  graph.add(find_op("AssignVariable"), {variable, doubled}, of_variable, "write");
  const Value after = graph.add(find_op("ReadVariable"), {variable}, of_variable, "after");
  graph.outputs = {before, after};
  const GraphParts cut = cut_by_place(graph, std::vector<int>{kAnyPlace, 0, 1, 0, 0});
  ASSERT_EQ(cut.parts.size(), 3u);
  EXPECT_EQ(cut.parts[2].graph.nodes.size(), 4u);  // two inputs, the write and the read behind it
  EXPECT_EQ(cut.parts[2].resources, std::vector<int>{0});
  EXPECT_EQ(cut.parts[0].results.size(), 1u);
}

}  // namespace
}  // namespace cohort
