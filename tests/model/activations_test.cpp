#include "cohort/model/activations.h"

#include <gtest/gtest.h>

#include <map>

#include "cohort/model/layer/activation.h"
#include "cohort/model/regularizers.h"
#include "tests/support/op_check.h"

// Expected numbers come from Keras 3.15.

namespace cohort {
namespace {

TEST(Activations, ValuesMatchKeras) {
  const std::map<std::string, std::vector<double>> cases = {
      {"linear", {-2, -0.5, 0, 0.5, 3}},
      {"relu", {0, 0, 0, 0.5, 3}},
      {"leaky_relu", {-0.4, -0.1, 0, 0.5, 3}},
      {"relu6", {0, 0, 0, 0.5, 3}},
      {"elu", {-0.864664733, -0.393469334, 0, 0.5, 3}},
      {"selu", {-1.52016652, -0.691758156, 0, 0.525350511, 3.15210295}},
      {"gelu", {-0.0455002673, -0.154268771, 0, 0.345731229, 2.99595022}},
      {"swish", {-0.238405883, -0.188770339, 0, 0.311229676, 2.85772228}},
      {"softplus", {0.126928002, 0.474076986, 0.693147182, 0.974076927, 3.04858732}},
      {"softsign", {-0.666666687, -0.333333343, 0, 0.333333343, 0.75}},
      {"sigmoid", {0.119202942, 0.377540678, 0.5, 0.622459352, 0.952574134}},
      {"hard_sigmoid", {0.166666672, 0.416666657, 0.5, 0.583333313, 1}},
      {"tanh", {-0.964027584, -0.462117136, 0, 0.462117136, 0.995054781}},
      {"softmax", {0.00576480525, 0.0258360635, 0.0425964706, 0.0702297017, 0.855572939}},
      {"log_softmax", {-5.15598392, -3.65598392, -3.15598392, -2.65598392, -0.155983895}},
      {"exponential", {0.135335281, 0.606530666, 1, 1.64872122, 20.085537}},
      {"mish", {-0.252501458, -0.220743775, 0, 0.375245184, 2.98653507}},
      {"celu", {-0.864664733, -0.393469334, 0, 0.5, 3}},
      {"hard_shrink", {-2, 0, 0, 0, 3}},
      {"hard_silu", {-0.333333343, -0.208333328, 0, 0.291666657, 3}},
      {"hard_tanh", {-1, -0.5, 0, 0.5, 1}},
      {"log_sigmoid", {-2.12692809, -0.974076927, -0.693147182, -0.474076986, -0.048587352}},
      {"soft_shrink", {-1.5, 0, 0, 0, 2.5}},
      {"sparse_plus", {0, 0.0625, 0.25, 0.5625, 3}},
      {"sparse_sigmoid", {0, 0.25, 0.5, 0.75, 1}},
      {"sparsemax", {0, 0, 0, 0, 1}},
      {"squareplus", {0.414213538, 0.780776381, 1, 1.28077638, 3.30277562}},
      {"tanh_shrink", {-1.03597236, -0.0378828645, 0, 0.0378828645, 2.00494528}}};
  const Tensor x = Tensor::of<float>({-2, -0.5, 0, 0.5, 3}, {1, 5});
  for (const auto& [name, want] : cases) {
    SCOPED_TRACE(name);
    test::expect_values((*Ref<Activation>(name))(x), want, 2e-6);
  }
}

TEST(Activations, ArgumentsOfRelu) {
  const Tensor x = Tensor::of<float>({-2, 0.5, 1, 3}, {4});
  test::expect_values(activations::relu(x, 0.1, 2.0, 0.75), {-0.275, -0.025, 1, 2}, 1e-6);
  test::expect_values(activations::relu(x, 0.0, 6.0), {0, 0.5, 1, 3}, 0);
}

TEST(Activations, UnknownNamesAreErrors) {
  test::expect_error([] { Ref<Activation> activation = "reluu"; }, {"reluu", "relu"});
  test::expect_error([] { activations::glu(Tensor::full({2, 3}, 1.0)); }, {"even", "(2, 3)"});
}

TEST(Regularizers, PenaltiesAreKerasOnes) {
  const Tensor weight = Tensor::of<float>({1, -2, 3, -4}, {2, 2});
  EXPECT_FLOAT_EQ((*regularizers::L1(0.1))(weight).item<float>(), 1.0f);
  EXPECT_FLOAT_EQ((*Ref<Regularizer>("l2"))(weight).item<float>(), 0.3f);
  EXPECT_FLOAT_EQ((*regularizers::L1L2({.l1 = 0.1, .l2 = 0.01}))(weight).item<float>(), 1.3f);
  EXPECT_FLOAT_EQ((*Ref<Regularizer>("l1_l2"))(weight).item<float>(), 0.4f);
  // Rows (1, -2) and (3, -4): cosine 11 / (sqrt(5) * 5), each pair counted twice and halved.
  EXPECT_NEAR((*regularizers::OrthogonalRegularizer({.factor = 1.0}))(weight).item<float>(), 0.98386991, 1e-6);
}

}  // namespace
}  // namespace cohort
