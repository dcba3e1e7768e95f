#include "cohort/model/layer/remat_scope.h"

#include <gtest/gtest.h>

#include "cohort/model/fit/training.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;

// Widens its input a hundredfold on the way: what lies between takes far more memory than what comes in and goes out.
class Wide : public Layer {
 public:
  void build(const Shape& input) override {
    up_ = add_weight("up", {input.back(), 100 * input.back()}, {.initializer = "ones"});
    down_ = add_weight("down", {100 * input.back(), input.back()}, {.initializer = "ones"});
  }
  Tensor call(const Tensor& x, const CallContext&) override {
    Tensor wide = ops::tanh(ops::matmul(x, up_));
    wide = ops::sin(ops::dropout(wide, 0.5, 17)) * wide;
    add_loss(ops::mean(ops::square(wide)));
    return ops::matmul(wide, down_) * 1e-3;
  }

 private:
  Variable up_, down_;
};

struct Trained {
  std::vector<float> weights;
  std::vector<double> losses;
  std::size_t memory = 0;
};

Trained trained(const std::function<Ref<Layer>()>& layer) {
  set_random_seed(3);
  std::vector<Ref<Layer>> layers;
  for (int i = 0; i < 6; ++i) layers.push_back(layer());
  Sequential model(layers);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = Tensor::full({64, 8}, 0.1), y = Tensor::full({64, 8}, 0.3);
  Trained result;
  result.losses = model.fit(x, y, {.epochs = 3, .verbose = 0})["loss"];
  result.weights = all_weights(model);
  const StepGraph& step =
      model.training().program(Program::Kind::Train)->step(with_unknown_batch(spec_of(Element::tuple({x, y}))));
  Tensors inputs = {x, y};
  inputs.insert(inputs.end(), step.traced.captures.begin(), step.traced.captures.end());
  result.memory = step.executables->specialize(inputs)->arena_bytes();
  return result;
}

TEST(Remat, KeepsTheNumbersAndSparesMemory) {
  const Trained plain = trained([] { return make<Wide>(); });
  const Trained again = trained([] {
    const RematScope scope;
    return make<Wide>();
  });
  EXPECT_EQ(again.losses, plain.losses);
  EXPECT_EQ(again.weights, plain.weights);
  EXPECT_LT(again.memory, plain.memory * 6 / 10) << plain.memory;
}

TEST(Remat, IsForTheLayersTheModeNames) {
  const Trained plain = trained([] { return make<Wide>(); });
  const auto named = [](const char* name) {
    return trained([name] {
      const RematScope scope({.mode = "list_of_layers", .layer_names = {name}});
      Ref<Layer> layer = make<Wide>();
      layer->set_name(unique_layer_name("Chosen"));
      return layer;
    });
  };
  reset_layer_names();
  const Trained others = named("somebody");
  EXPECT_EQ(others.memory, plain.memory);
  reset_layer_names();
  const Trained one = named("chosen_2");
  EXPECT_LT(one.memory, plain.memory);
  EXPECT_EQ(one.losses, plain.losses);
  EXPECT_THROW(RematScope({.mode = "half"}), Error);
}

}  // namespace
}  // namespace cohort
