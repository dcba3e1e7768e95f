#include <gtest/gtest.h>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/update_layout.h"
#include "cohort/ops/cast.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

// One update over float32 variables of these sizes, by gradients of these types.
class MixedUpdate {
 public:
  MixedUpdate(const std::string& op, const std::vector<std::int64_t>& sizes, const std::vector<DType>& types,
              bool widened) {
    const int slots = op == "AdamUpdate" ? 2 : op == "MomentumUpdate" ? 1 : 0;
    Tensors inputs, gradients;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto seed = static_cast<unsigned>(i);
      variables_.emplace_back(test::spread_tensor({sizes[i]}, -1, 1, DType::Float32, seed));
      const Tensor gradient = test::spread_tensor({sizes[i]}, -1, 1, types[i % types.size()], 20 + seed);
      gradients.push_back(widened ? ops::cast(gradient, DType::Float32) : gradient);
    }
    for (const Variable& variable : variables_) inputs.push_back(variable.handle());
    for (int s = 0; s < slots; ++s) {
      for (const std::int64_t size : sizes) {
        slots_.emplace_back(Tensor::full({size}, 0.5));
        inputs.push_back(slots_.back().handle());
      }
    }
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    inputs.push_back(Tensor::scalar(0.1));
    if (op == "AdamUpdate") inputs.push_back(Tensor::scalar(3, DType::Int64));
    Attributes attributes = UpdateLayout::attributes(slots, false, static_cast<int>(sizes.size()));
    if (!widened) attributes.set(kComputeType, AttributeValue(DType::Float32));
    run_op_all(op, inputs, attributes);
  }

  // All variables and slots.
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> values;
    for (const Variable& variable : variables_) values.push_back(read_now(variable).to_vector<float>());
    for (const Variable& slot : slots_) values.push_back(read_now(slot).to_vector<float>());
    return values;
  }

 private:
  Variables variables_, slots_;
};

TEST(HalfGradients, MoveVariablesAsIfTheyWereWidened) {
  // Below, at and above what a thread has, more than a block has, and more variables than a launch takes.
  std::vector<std::int64_t> sizes{1, 3, 4, 7, 1024, 1031, 40000, 0, 8};
  while (sizes.size() < 150) sizes.push_back(5);
  const std::vector<std::vector<DType>> kinds = {{DType::BFloat16},
                                                 {DType::Float16},
                                                 {DType::Float32, DType::BFloat16},
                                                 {DType::BFloat16, DType::Float32, DType::Float16}};
  for (const char* op : {"SGDUpdate", "MomentumUpdate", "AdamUpdate"}) {
    for (const std::vector<DType>& types : kinds) {
      const MixedUpdate seen(op, sizes, types, false), wanted(op, sizes, types, true);
      EXPECT_EQ(seen.values(), wanted.values()) << op << " " << types[0] << " of " << types.size();
    }
  }
}

TEST(HalfGradients, AreRefusedWhereAnUpdateCannotReadThem) {
  Variable variable(Tensor::full({4}, 1.0)), first(Tensor::full({4}, 0.0)), second(Tensor::full({4}, 0.0));
  const Tensor half = Tensor::full({4}, 0.5, DType::BFloat16), rate = Tensor::scalar(0.1);
  const Attributes single = UpdateLayout::attributes(0, false), pair = UpdateLayout::attributes(0, false, 2);
  const auto with_type = [](Attributes attributes, DType type) {
    attributes.set(kComputeType, AttributeValue(type));
    return attributes;
  };
  // They do not say what the variables are: these would be of the half type.
  EXPECT_THROW(run_op_all("SGDUpdate", {variable.handle(), half, rate}, single), Error);
  EXPECT_THROW(run_op_all("SGDUpdate", {variable.handle(), half, rate}, with_type(single, DType::Float64)), Error);
  EXPECT_THROW(run_op_all("SGDUpdate", {variable.handle(), half, rate}, with_type(single, DType::BFloat16)), Error);
  const Tensor wide = Tensor::full({4}, 0.5);
  test::expect_error(
      [&] {
        run_op_all("SGDUpdate", {variable.handle(), first.handle(), wide, half, rate}, pair);
      },
      {"gradients must be floating and of one type"});
  test::expect_error(
      [&] {
        run_op_all("LambUpdate",
                   {variable.handle(), first.handle(), second.handle(), half, rate, Tensor::scalar(1, DType::Int64)},
                   with_type(UpdateLayout::attributes(2, false), DType::Float32));
      },
      {"no gradients of half types"});
  EXPECT_EQ(read_now(variable).to_vector<float>(), std::vector<float>(4, 1.0f));
}

}  // namespace
}  // namespace cohort
