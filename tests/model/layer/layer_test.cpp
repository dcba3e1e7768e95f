#include "cohort/model/layer/layer.h"

#include <gtest/gtest.h>

#include <thread>

#include "cohort/model/layer/input_layer.h"
#include "cohort/model/regularizers.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::Linear;

class Conv2DTranspose : public Linear {};
class HTTPGate : public Linear {};
class Registered : public Linear {};
COHORT_REGISTER_LAYER("mine", Registered);

TEST(LayerNames, CountPerClass) {
  reset_layer_names();
  EXPECT_EQ(make<Linear>()->name(), "linear");
  EXPECT_EQ(make<Linear>()->name(), "linear_1");
  EXPECT_EQ(make<Conv2DTranspose>()->name(), "conv2d_transpose");
  EXPECT_EQ(make<HTTPGate>()->name(), "http_gate");
  EXPECT_EQ(make<Registered>()->name(), "registered");
}

TEST(LayerNames, AreTakenOnceHoweverManyThreadsAsk) {
  reset_layer_names();
  constexpr int kLayers = 50;
  for (int i = 0; i < kLayers; ++i) {
    auto layer = make<Linear>();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { layer->name(); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(make<Linear>()->name(), "linear_" + std::to_string(kLayers));
}

TEST(LayerNames, AreRegistered) {
  EXPECT_EQ(make<Registered>()->class_name(), "mine>Registered");
  EXPECT_EQ(make<Registered>()->module_name(), "");
  EXPECT_EQ(Ref<Layer>("mine>Registered")->class_name(), "mine>Registered");
  EXPECT_THROW(Ref<Layer>("mine>Nothing"), Error);
}

// A dense layer, a frozen counter, and a layer inside.
class Nested : public Layer {
 public:
  Nested() : inner_(track("inner", make<Linear>(2))) {}
  void build(const Shape& input) override {
    count_ = add_weight("count", {}, {.initializer = "zeros", .trainable = false});
    gain_ = add_weight("gain", {input.back()}, {.initializer = "ones", .regularizer = regularizers::L2(0.5)});
  }
  Tensor call(const Tensor& x, const CallContext& context) override {
    add_loss(ops::sum(x));
    if (context.training) count_.assign_add(Tensor::scalar(1.0));
    return inner_(x * gain_);
  }
  Layer::Handle<Linear> inner_;
  Variable count_, gain_;
};

TEST(Layer, TracksWeightsInKerasOrder) {
  reset_layer_names();
  auto layer = make<Nested>();
  layer(Tensor::full({3, 4}, 1.0));
  std::vector<std::string> paths;
  for (const Variable& weight : layer->weights()) paths.push_back(weight.path());
  EXPECT_EQ(paths,
            (std::vector<std::string>{"nested/gain", "nested/count", "nested/linear/kernel", "nested/linear/bias"}));
  EXPECT_EQ(layer->trainable_variables().size(), 3u);
  EXPECT_EQ(layer->non_trainable_variables().size(), 1u);
  EXPECT_EQ(layer->count_params(), 4 + 1 + 8 + 2);
  layer->set_trainable(false);
  EXPECT_TRUE(layer->trainable_variables().empty());
  EXPECT_EQ(layer->non_trainable_variables().size(), 4u);
  layer->set_trainable(true);
  EXPECT_EQ(layer->trainable_variables().size(), 3u);
  layer->inner_->set_trainable(false);
  EXPECT_EQ(layer->trainable_variables().size(), 1u);
}

TEST(Layer, CollectsLosses) {
  auto layer = make<Nested>();
  layer(Tensor::full({3, 4}, 1.0));
  layer(Tensor::full({2, 4}, 1.0));
  const Tensors losses = layer->losses();  // of the last call alone
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].item<float>(), 8.0f);
  EXPECT_EQ(losses[1].item<float>(), 2.0f);
}

TEST(Layer, LossesOfLayersTrain) {
  Sequential model({make<Nested>()});
  model.compile({.optimizer = optimizers::SGD(0.0)});
  const History history = model.fit(Tensor::full({4, 4}, 1.0), Tensor::full({4, 2}, 1.0), {.verbose = 0});
  EXPECT_NEAR(history["loss"][0], 16.0 + 2.0, 1e-5);
  EXPECT_EQ(model.get_weights()[1].item<float>(), 1.0f);  // one training call
  EXPECT_TRUE(model.losses().empty() || !model.losses()[0].is_symbolic());
}

TEST(Layer, SetWeightsChecksAllBeforeWritingOne) {
  auto layer = make<Linear>(2);
  layer(Tensor::full({1, 3}, 1.0));
  EXPECT_THROW(layer->set_weights({Tensor::full({3, 2}, 5.0)}), Error);
  EXPECT_THROW(layer->set_weights({Tensor::full({3, 2}, 5.0), Tensor::full({3}, 5.0)}), Error);
  EXPECT_EQ(layer->get_weights()[0].to_vector<float>(), std::vector<float>(6, 0.0f));
  layer->set_weights({Tensor::full({3, 2}, 5.0), Tensor::full({2}, 1.0)});
  EXPECT_EQ(layer(Tensor::full({1, 3}, 1.0)).to_vector<float>(), (std::vector<float>{16, 16}));
}

// Cannot be built for inputs of fewer than three columns, which it finds out late.
class Picky : public Layer {
 public:
  void build(const Shape& input) override {
    gain_ = add_weight("gain", {input.back()}, {.initializer = "ones"});
    track("inner", make<Linear>(2));
    if (input.back() < 3) throw invalid_argument("Picky", "three columns are expected");
    bias_ = add_weight("bias", {input.back()}, {.initializer = "zeros"});
  }
  Tensor call(const Tensor& x, const CallContext&) override { return x * gain_ + bias_; }

 private:
  Variable gain_, bias_;
};

TEST(Layer, ABuildThatFailsLeavesNothingBehind) {
  auto layer = make<Picky>();
  EXPECT_THROW(layer(Tensor::full({1, 2}, 1.0)), Error);
  EXPECT_FALSE(layer->built());
  EXPECT_TRUE(layer->weights().empty());
  EXPECT_TRUE(layer->own_weights().empty());
  EXPECT_TRUE(layer->sublayers().empty());
  layer(Tensor::full({1, 3}, 1.0));
  EXPECT_EQ(layer->own_weights().size(), 2u);
  EXPECT_EQ(layer->sublayers().size(), 1u);
}

TEST(Layer, CastsFloatsToItsOwnType) {
  auto layer = make<Linear>(1);
  EXPECT_EQ(layer(Tensor::full({1, 3}, 1.0, DType::Float64)).dtype(), DType::Float32);
}

TEST(Layer, NamesItselfInErrors) {
  reset_layer_names();
  Sequential model({make<Linear>(2), make<Linear>(2)});
  model(Tensor::full({1, 3}, 1.0));
  try {
    model(Tensor::full({1, 4}, 1.0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'linear'"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("equential '"), std::string::npos) << error.what();
  }
}

TEST(Sequential, BuildsFromItsInput) {
  reset_layer_names();
  Sequential model({Ref<Layer>(std::make_shared<InputLayer>(Shape{4})), make<Linear>(3), make<Linear>(2)});
  EXPECT_EQ(model.count_params(), 15 + 8);
  EXPECT_EQ(model.weights()[0].path(), "sequential/linear/kernel");
  EXPECT_EQ(model.layers().size(), 2u);
  EXPECT_THROW(model(Tensor::full({1, 5}, 1.0)), Error);
  Sequential late({make<Linear>(3)});
  EXPECT_EQ(late.count_params(), 0);
  late.build({kUnknown, 4});
  EXPECT_EQ(late.count_params(), 15);
}

}  // namespace
}  // namespace cohort
