#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/function.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/constraints.h"
#include "cohort/variables/shards.h"
#include "tests/support/elsewhere.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using MakeAnyOptimizer = std::function<Ref<Optimizer>()>;

struct Trained {
  std::vector<float> weights;
  std::vector<float> state;
  std::vector<std::string> paths;
};

// Three steps on a kernel of five rows and a scalar, traced or not.
Trained train(const MakeAnyOptimizer& make, VariableCreator* creator, bool traced) {
  VariableCreatorScope scope(creator);
  const Ref<Optimizer> optimizer = make();
  std::vector<float> start, slope;
  for (int i = 0; i < 10; ++i) {
    start.push_back(0.3f * static_cast<float>(i) - 1.0f);
    slope.push_back(static_cast<float>((i * 7) % 5) - 1.7f);
  }
  Variable kernel(Tensor::of(start, {5, 2}), {.name = "kernel", .path = "dense/kernel"});
  kernel.set_constraint("non_neg");
  const Variable scale(Tensor::scalar(2.0), {.name = "scale", .path = "dense/scale"});
  const Tensor gradient = Tensor::of(slope, {5, 2});
  const Function step = function([&](const Tensor& dy) {
    optimizer->apply({dy, Tensor::scalar(0.5)}, {kernel, scale});
    return Tensor(scale.value());
  });
  VariableCreatorScope outside(nullptr);  // slots belong to the optimizer's place, not to the caller's
  for (int i = 0; i < 3; ++i) {
    if (traced) {
      step(gradient);
    } else {
      optimizer->apply({gradient, Tensor::scalar(0.5)}, {kernel, scale});
    }
  }
  Trained result{read_now(kernel).to_vector<float>(), {}, {}};
  result.weights.push_back(read_now(scale).item<float>());
  for (const Variable& variable : optimizer->variables()) {
    result.paths.push_back(variable.path());
    for (float value : read_now(variable).to_vector<float>()) result.state.push_back(value);
  }
  return result;
}

// A sharded variable trains as a whole one does, wherever its shards lie, and its state looks the same.
TEST(OptimizerShards, TrainAsWholeVariables) {
  const std::vector<MakeAnyOptimizer> all = {
      [] { return optimizers::SGD(0.1, {.weight_decay = 0.1}); },
      [] { return optimizers::SGD(0.1, {.momentum = 0.9, .nesterov = true}); },
      [] { return optimizers::Adam(0.1, {.amsgrad = true, .clipnorm = 1.0}); },
      [] { return optimizers::RMSprop(0.1, {.momentum = 0.5, .centered = true, .global_clipnorm = 1.0}); },
      [] { return optimizers::Nadam(0.1, {.use_ema = true, .ema_overwrite_frequency = 2}); },
      [] { return optimizers::Adadelta(1.0, {.gradient_accumulation_steps = 2}); },
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (bool traced : {false, true}) {
      SCOPED_TRACE("optimizer " + std::to_string(i) + (traced ? ", traced" : ", eager"));
      const Trained plain = train(all[i], nullptr, traced);
      test::Elsewhere place;
      test::Sharding shards(3), far_shards(2, &place);
      for (VariableCreator* creator : std::initializer_list<VariableCreator*>{&place, &shards, &far_shards}) {
        const Trained other = train(all[i], creator, traced);
        EXPECT_EQ(other.weights, plain.weights);
        EXPECT_EQ(other.state, plain.state);
        EXPECT_EQ(other.paths, plain.paths);
      }
    }
  }
}

TEST(OptimizerShards, SlotsLieWithTheirShard) {
  test::Elsewhere place;
  test::Sharding shards(2, &place);
  train([] { return optimizers::Adam(0.1); }, &shards, false);
  std::vector<std::string> slots;
  for (const test::Elsewhere::Made& made : place.made) {
    if (!made.colocated_with.empty()) slots.push_back(made.path + " with " + made.colocated_with);
  }
  EXPECT_EQ(slots, (std::vector<std::string>{
                       "adam/dense_kernel_momentum/part_0 with dense/kernel/part_0",
                       "adam/dense_kernel_velocity/part_0 with dense/kernel/part_0",
                       "adam/dense_kernel_momentum/part_1 with dense/kernel/part_1",
                       "adam/dense_kernel_velocity/part_1 with dense/kernel/part_1",
                       "adam/dense_scale_momentum with dense/scale",
                       "adam/dense_scale_velocity with dense/scale",
                   }));
}

// Sparse gradients reach the shard that has the row.
TEST(OptimizerShards, TakeSlices) {
  test::Sharding sharding(3);
  Variable table = [&] {
    VariableCreatorScope scope(&sharding);
    return Variable(Tensor::full({7, 1}, 1.0), {.name = "table"});
  }();
  for (const Ref<Optimizer>& optimizer :
       {Ref<Optimizer>(optimizers::SGD(0.5)), Ref<Optimizer>(optimizers::Adagrad(0.5))}) {
    write_now(table, Tensor::full({7, 1}, 1.0));
    Variable whole(Tensor::full({7, 1}, 1.0), {.name = "whole"});
    const Ref<Optimizer> reference = optimizer->class_name() == "SGD" ? Ref<Optimizer>(optimizers::SGD(0.5))
                                                                      : Ref<Optimizer>(optimizers::Adagrad(0.5));
    const auto slices = [](const Variable& like) {
      return Gradient(
          IndexedSlices{Tensor::of<float>({1, 2, 4}, {3, 1}), Tensor::of<std::int32_t>({6, 0, 6}, {3}), like.value()});
    };
    optimizer->apply({slices(table)}, {table});
    reference->apply({slices(whole)}, {whole});
    EXPECT_EQ(read_now(table).to_vector<float>(), read_now(whole).to_vector<float>()) << optimizer->class_name();
  }
}

class NeedsWhole : public optimizers::SGDOptimizer {
 public:
  bool needs_whole_variable() const override { return true; }
};

TEST(OptimizerShards, AnOptimizerThatNeedsTheWholeRefuses) {
  test::Sharding sharding(2);
  VariableCreatorScope scope(&sharding);
  const Variable table(Tensor::full({4}, 1.0), {.name = "table", .path = "embedding/table"});
  try {
    NeedsWhole().apply({Tensor::full({4}, 1.0)}, {table});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("embedding/table"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(NeedsWhole().apply({Tensor::scalar(1.0)}, {Variable(Tensor::scalar(1.0))}));
}

// Kernels trust the numbers in an update's attributes: each op takes its own number of slots.
TEST(UpdateOps, CheckTheirSlots) {
  const Variable variable(Tensor::full({2}, 1.0));
  const auto refused = [&](const char* op, int slots, const Attributes& options, int scalars) {
    Tensors inputs(static_cast<std::size_t>(1 + slots), variable.handle());
    inputs.push_back(Tensor::full({2}, 1.0));
    inputs.push_back(Tensor::scalar(0.1));
    if (scalars > 1) inputs.push_back(Tensor::scalar(0, DType::Int64));
    if (scalars > 2) inputs.push_back(Tensor::scalar(1.0));
    Attributes attributes = UpdateLayout::attributes(slots, false);
    for (const Attributes::Entry& option : options) attributes.set(option.name, option.value);
    try {
      run_op_all(op, inputs, attributes);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::InvalidArgument;
    }
  };
  struct Case {
    const char* op;
    int slots, scalars;
    Attributes attributes;
  };
  const std::vector<Case> cases = {{"SGDUpdate", 0, 1, {}},
                                   {"MomentumUpdate", 1, 1, {}},
                                   {"AdamUpdate", 2, 2, {}},
                                   {"AdamUpdate", 3, 2, {{"amsgrad", true}}},
                                   {"RMSpropUpdate", 1, 1, {}},
                                   {"RMSpropUpdate", 2, 1, {{"centered", true}}},
                                   {"RMSpropUpdate", 3, 1, {{"centered", true}, {"momentum", 0.5}}},
                                   {"AdagradUpdate", 1, 1, {}},
                                   {"AdamaxUpdate", 2, 2, {}},
                                   {"NadamUpdate", 2, 3, {}},
                                   {"AdadeltaUpdate", 2, 1, {}},
                                   {"LionUpdate", 1, 1, {}},
                                   {"FtrlUpdate", 2, 1, {}},
                                   {"LambUpdate", 2, 2, {}},
                                   {"ScheduleFreeAdamWUpdate", 2, 2, {}}};
  for (const Case& each : cases) {
    EXPECT_FALSE(refused(each.op, each.slots, each.attributes, each.scalars)) << each.op << " " << each.slots;
    EXPECT_TRUE(refused(each.op, each.slots + 1, each.attributes, each.scalars)) << each.op << " " << each.slots + 1;
    if (each.slots == 0) continue;
    EXPECT_TRUE(refused(each.op, each.slots - 1, each.attributes, each.scalars)) << each.op << " " << each.slots - 1;
  }
}

TEST(UpdateOps, CheckTheirVariablesAndScalars) {
  const Variable variable(Tensor::full({2}, 1.0));
  const Tensor gradient = Tensor::full({2}, 1.0), rate = Tensor::scalar(0.1);
  // A gradient larger than the variable, with and without the attributes that have defaults.
  EXPECT_THROW(run_op_all("SGDUpdate", {variable.handle(), Tensor::full({3}, 1.0), rate}), Error);
  EXPECT_THROW(
      run_op_all("SGDUpdate", {variable.handle(), Tensor::full({3}, 1.0), rate}, UpdateLayout::attributes(0, false)),
      Error);
  EXPECT_THROW(run_op_all("SGDUpdate", {variable.handle(), gradient, rate}, UpdateLayout::attributes(0, false, -1)),
               Error);
  const Tensors adam = {variable.handle(), variable.handle(), variable.handle(), gradient, rate};
  Tensors with_float = adam;
  with_float.push_back(Tensor::scalar(0.0));
  EXPECT_THROW(run_op_all("AdamUpdate", with_float), Error);
  EXPECT_THROW(run_op_all("ReadVariable", {variable.handle()}, {{"dtype", DType::Float32}, {"shape", Shape{5}}}),
               Error);
}

}  // namespace
}  // namespace cohort
