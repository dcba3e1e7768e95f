#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/identity.h"
#include "cohort/model/functional.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/config_json.h"
#include "cohort/saving/model_json.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using layers::Dense;

// Sets the global policy for a test.
class MixedPrecision : public testing::Test {
 protected:
  ~MixedPrecision() override { mixed_precision::set_global_policy("float32"); }
};

TEST_F(MixedPrecision, PoliciesHaveKerasNames) {
  const DTypePolicy mixed("mixed_bfloat16");
  EXPECT_EQ(mixed.compute_dtype(), DType::BFloat16);
  EXPECT_EQ(mixed.variable_dtype(), DType::Float32);
  EXPECT_EQ(mixed.name(), "mixed_bfloat16");
  EXPECT_EQ(DTypePolicy("float64").name(), "float64");
  EXPECT_EQ(DTypePolicy().name(), "float32");
  EXPECT_THROW(DTypePolicy("mixed_float64"), Error);
  EXPECT_THROW(DTypePolicy("heavy"), Error);
}

TEST_F(MixedPrecision, LayersComputeInOneTypeOnVariablesOfAnother) {
  mixed_precision::set_global_policy("mixed_bfloat16");
  Dense dense(3);
  const Tensor output = dense(Tensor::full({2, 4}, 1.0));
  EXPECT_EQ(output.dtype(), DType::BFloat16);
  EXPECT_EQ(dense->weights()[0].dtype(), DType::Float32);
  EXPECT_EQ(dense->get_weights()[0].dtype(), DType::Float32);
  // A layer that says otherwise; integers are left to the layer.
  Dense exact(3, {.dtype = "float32"});
  EXPECT_EQ(exact(output).dtype(), DType::Float32);
  EXPECT_EQ(layers::Identity()(Tensor::full({2}, 1.0, DType::Int32)).dtype(), DType::Int32);
  mixed_precision::set_global_policy("float32");
  EXPECT_EQ(Dense(3)(Tensor::full({2, 4}, 1.0)).dtype(), DType::Float32);
  EXPECT_EQ(dense(Tensor::full({2, 4}, 1.0)).dtype(), DType::BFloat16);  // keeps what it was made with
}

TEST_F(MixedPrecision, RoundsAsBfloat16DoesAndKeepsSmallUpdates) {
  mixed_precision::set_global_policy("mixed_bfloat16");
  Dense dense(1, {.use_bias = false});
  dense->ensure_built({Shape{kUnknown, 1}});
  dense->set_weights({Tensor::full({1, 1}, 1.001)});  // not a bfloat16: the next one above 1 is 1.0078125
  EXPECT_EQ(ops::cast(dense(Tensor::full({1, 1}, 1.0)), DType::Float32).item<float>(), 1.0f);
  EXPECT_EQ(dense->get_weights()[0].item<float>(), 1.001f);
}

TEST_F(MixedPrecision, TrainsLikeFloat32) {
  const auto losses = [](const char* policy) {
    mixed_precision::set_global_policy(policy);
    set_random_seed(5);
    Sequential model({Dense(16, {.activation = "tanh"}), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    const History history =
        model.fit(testing_models::line_x(), testing_models::line_y(), {.batch_size = 5, .epochs = 20, .verbose = 0});
    for (const Variable& weight : model.weights()) EXPECT_EQ(weight.dtype(), DType::Float32);
    EXPECT_EQ(model.predict(testing_models::line_x()).dtype(), DTypePolicy(policy).compute_dtype());
    return history["loss"];
  };
  const std::vector<double> exact = losses("float32"), mixed = losses("mixed_bfloat16");
  EXPECT_LT(mixed.back(), 0.3 * mixed.front());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(mixed[i], exact[i], 0.02) << i;
  EXPECT_NE(mixed, exact);
}

TEST_F(MixedPrecision, ScalesTheLossOfFloat16) {
  mixed_precision::set_global_policy("mixed_float16");
  set_random_seed(5);
  Sequential model({Dense(16, {.activation = "tanh"}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(model.optimizer()->class_name(), "LossScaleOptimizer");
  const History history =
      model.fit(testing_models::line_x(), testing_models::line_y(), {.batch_size = 5, .epochs = 20, .verbose = 0});
  EXPECT_LT(history["loss"].back(), 0.3 * history["loss"].front());
  model.compile({.optimizer = "sgd", .loss = "mse", .auto_scale_loss = false});
  EXPECT_EQ(model.optimizer()->class_name(), "SGD");
}

// A step of one's own, as examples/vae.cpp has it.
class OwnStep : public Model {
 public:
  OwnStep() : dense_(track("dense", Dense(1, {.kernel_initializer = "ones"}))) {}
  Tensor call(const Tensor& x, const CallContext&) override { return dense_(x); }
  void train_step(const Element& data) override {
    GradientTape tape;
    const Tensor y = ops::cast(data[1].leaf(), DType::Float32);
    const Tensor loss = ops::mean(ops::square(ops::cast(forward(data[0], true).leaf(), DType::Float32) - y));
    const Variables variables = trainable_variables();
    optimizer()->apply(tape.gradient(optimizer()->scale_loss(loss), variables), variables);
  }

 private:
  Dense dense_;
};

TEST_F(MixedPrecision, LearnsAsFastInAStepOfOnesOwnThatScalesItsLoss) {
  const auto kernel_after_a_step = [](const char* policy) {
    mixed_precision::set_global_policy(policy);
    OwnStep model;
    model.compile({.optimizer = optimizers::LossScaleOptimizer(optimizers::SGD(0.1), {.initial_scale = 8.0})});
    model.fit(testing_models::line_x(), testing_models::line_y(), {.batch_size = 100, .verbose = 0});
    return model.weights()[0].value().to_vector<float>()[0];
  };
  const float exact = kernel_after_a_step("float32"), mixed = kernel_after_a_step("mixed_float16");
  EXPECT_GT(std::abs(exact - 1.0f), 0.05f);
  EXPECT_NEAR(mixed, exact, 0.01f * std::abs(exact - 1.0f) + 1e-3f);
}

TEST_F(MixedPrecision, IsWrittenAsKerasWritesIt) {
  const Dense dense(2, {.dtype = "mixed_bfloat16"});
  const std::string json = to_json(*dense.get());
  EXPECT_NE(json.find(R"("dtype":{"module":"keras","class_name":"DTypePolicy","config":{"name":"mixed_bfloat16"},)"
                      R"("registered_name":null})"),
            std::string::npos)
      << json;
  layers::DenseLayer read;
  from_json(read, json);
  EXPECT_EQ(read.dtype_policy().name(), "mixed_bfloat16");

  mixed_precision::set_global_policy("mixed_bfloat16");
  const SymbolicTensor x = Input({3});
  Model model(x, Dense(2)(x) * 2.0);
  EXPECT_EQ(model.functional()->outputs().leaf().dtype(), DType::BFloat16);
  const std::string text = model_to_json(model);
  mixed_precision::set_global_policy("float32");
  EXPECT_EQ((*model_from_json(text))(Tensor::full({1, 3}, 1.0)).dtype(), DType::BFloat16);
}

}  // namespace
}  // namespace cohort
