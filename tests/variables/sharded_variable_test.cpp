#include "cohort/variables/sharded_variable.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/graph/function.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/shards.h"
#include "tests/support/elsewhere.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_values;

// Rows 0..6 of two numbers each, 3 + 2 + 2: row i is (i, 10 i).
Variable table(VariableCreator* below = nullptr) {
  test::Sharding shards(3, below);
  VariableCreatorScope scope(&shards);
  std::vector<float> values;
  for (int i = 0; i < 7; ++i) {
    values.push_back(static_cast<float>(i));
    values.push_back(static_cast<float>(10 * i));
  }
  return Variable(Tensor::of(values, {7, 2}), {.name = "table", .path = "model/table"});
}

TEST(SplitRows, GivesTheFirstOnesMore) {
  EXPECT_EQ(split_rows(13, 5), (std::vector<RowRange>{{0, 3}, {3, 3}, {6, 3}, {9, 2}, {11, 2}}));
  EXPECT_EQ(split_rows(3, 8).size(), 3u);
  EXPECT_EQ(split_rows(0, 2), (std::vector<RowRange>{{0, 0}}));
}

TEST(ShardedVariable, LooksWhole) {
  Variable variable = table();
  EXPECT_TRUE(variable.sharded());
  EXPECT_EQ(variable.shape(), (Shape{7, 2}));
  EXPECT_EQ(variable.path(), "model/table");
  const Variables shards = variable.shards();
  ASSERT_EQ(shards.size(), 3u);
  EXPECT_EQ(shards[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(shards[2].shape(), (Shape{2, 2}));
  EXPECT_EQ(shards[1].path(), "model/table/part_1");
  variable.set_path("other/table");
  EXPECT_EQ(shards[1].path(), "other/table/part_1");
  variable.set_trainable(false);
  EXPECT_FALSE(shards[2].trainable());
  expect_values(variable.value(), {0, 0, 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60}, 0);
  EXPECT_EQ(Variable(Tensor::scalar(1)).shards().size(), 1u);
  try {
    variable.handle();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("shards()"), std::string::npos) << error.what();
  }
}

TEST(ShardedVariable, WritesReachTheShards) {
  test::Elsewhere place;
  for (VariableCreator* below : {static_cast<VariableCreator*>(nullptr), static_cast<VariableCreator*>(&place)}) {
    Variable variable = table(below);
    variable.assign_add(variable.value());
    variable.assign_sub(Tensor::full({7, 2}, 1.0));
    expect_values(variable.shards()[1].value(), {5, 59, 7, 79}, 0);
    write_now(variable, Tensor::full({7, 2}, 2.0));
    variable.scatter_add(Tensor::of<std::int64_t>({6, 0, 3, 6}, {4}),
                         Tensor::of<float>({1, 1, 2, 2, 3, 3, 4, 4}, {4, 2}));
    expect_values(read_now(variable), {4, 4, 2, 2, 2, 2, 5, 5, 2, 2, 2, 2, 7, 7}, 0);
    for (std::int64_t bad : {-1, 7}) {
      EXPECT_THROW(variable.scatter_add(Tensor::of<std::int64_t>({bad}, {1}), Tensor::of<float>({1, 1}, {1, 2})),
                   Error);
    }
    EXPECT_THROW(variable.assign(Tensor::full({6, 2}, 1.0)), Error);
  }
}

TEST(ShardedVariable, ReadsRowsInTheOrderAsked) {
  const ShardedVariable sharded(table());
  expect_values(sharded.sparse_read(Tensor::of<std::int32_t>({4, 0, 3, 1}, {4})), {4, 40, 0, 0, 3, 30, 1, 10}, 0);
  const Tensor looked_up = embedding_lookup(sharded, Tensor::of<std::int64_t>({6, 2, 2, 5}, {2, 2}));
  EXPECT_EQ(looked_up.shape(), (Shape{2, 2, 2}));
  expect_values(looked_up, {6, 60, 2, 20, 2, 20, 5, 50}, 0);
  EXPECT_THROW(sharded.sparse_read(Tensor::of<std::int32_t>({7}, {1})), Error);
  EXPECT_THROW(sharded.sparse_read(Tensor::of<std::int32_t>({-1}, {1})), Error);
  expect_values(sharded[3], {3, 30}, 0);
  expect_values(sharded[-1], {6, 60}, 0);
  EXPECT_THROW(sharded[7], Error);
  expect_values(sharded.strided_slice({{.begin = 2, .end = 4}}), {2, 20, 3, 30}, 0);
  expect_values(sharded.strided_slice({{.begin = 5, .step = -2}, {.begin = 1}}), {50, 30, 10}, 0);
  expect_values(sharded.strided_slice({{.step = -3}, {.end = 1}}), {6, 3, 0}, 0);
  expect_values(sharded.strided_slice({{.begin = -2}}), {5, 50, 6, 60}, 0);
  EXPECT_EQ(sharded.strided_slice({{.begin = 4, .end = 2}}).shape(), (Shape{0, 2}));
  EXPECT_THROW(sharded.strided_slice({{.step = 0}}), Error);
}

TEST(ShardedVariable, IsMadeOfVariables) {
  Variable a(Tensor::of<float>({1, 2}, {2})), b(Tensor::of<float>({3}, {1}));
  ShardedVariable sharded({a, b}, "pair");
  EXPECT_EQ(sharded.name(), "pair");
  EXPECT_EQ(a.path(), "variable");
  sharded.assign_add(Tensor::of<float>({1, 1, 1}, {3}));
  expect_values(a.value(), {2, 3}, 0);
  expect_values(Tensor(sharded) * 2.0, {4, 6, 8}, 0);
  EXPECT_THROW(ShardedVariable(Variables{}), Error);
  EXPECT_THROW(ShardedVariable({a, Variable(Tensor::full({1, 2}, 0.0))}), Error);
  EXPECT_THROW(ShardedVariable(Variables{Variable(Tensor::scalar(1))}), Error);
  EXPECT_THROW(ShardedVariable({a, sharded.variable()}), Error);
}

TEST(ShardedVariable, HasTheGradientOfTheWhole) {
  const Variable variable = table();
  const Variable plain(Tensor::of<float>({1, 2}, {2}));
  GradientTape tape({.persistent = true});
  const Tensor value = variable.value();
  const Tensor loss = ops::sum(value * value) + ops::sum(plain.value() * 3.0);
  const Gradients gradients = tape.gradient(loss, Variables{plain, variable});
  ASSERT_EQ(gradients.size(), 2u);
  expect_values(gradients[0].dense(), {3, 3}, 0);
  expect_values(gradients[1].dense(), {0, 0, 2, 20, 4, 40, 6, 60, 8, 80, 10, 100, 12, 120}, 0);
  const Gradients none = tape.gradient(ops::sum(plain.value()), Variables{variable});
  EXPECT_FALSE(none[0].defined());
  // Of one shard alone: zeros for the others.
  const Tensor some = ops::sum(variable.shards()[1].value());
  expect_values(tape.gradient(some, Variables{variable})[0].dense(), {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}, 0);
}

TEST(ShardedVariable, LookupsHaveGradientsInTraces) {
  const ShardedVariable sharded(table());
  const Function step = function([&](const Tensor& ids) {
    GradientTape tape;
    const Tensor rows = sharded.sparse_read(ids);
    return tape.gradient(ops::sum(rows * rows), Variables{sharded})[0].dense();
  });
  expect_values(step(Tensor::of<std::int32_t>({6, 0, 6}, {3})), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 240}, 0);
}

}  // namespace
}  // namespace cohort
