#include <gtest/gtest.h>

#include "cohort/layers/convolutional/conv1d.h"
#include "cohort/layers/convolutional/conv1d_transpose.h"
#include "cohort/layers/convolutional/conv2d.h"
#include "cohort/layers/convolutional/conv2d_transpose.h"
#include "cohort/layers/convolutional/conv3d.h"
#include "cohort/layers/convolutional/conv3d_transpose.h"
#include "cohort/layers/convolutional/depthwise_conv1d.h"
#include "cohort/layers/convolutional/depthwise_conv2d.h"
#include "cohort/layers/convolutional/separable_conv1d.h"
#include "cohort/layers/convolutional/separable_conv2d.h"
#include "cohort/layers/layers.h"
#include "cohort/layers/recurrent/conv_lstm.h"
#include "cohort/model/model.h"
#include "cohort/saving/model_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

using test::expect_error;

Tensor zeros(const Shape& shape) {
  return test::tensor_of(std::vector<double>(static_cast<std::size_t>(shape.num_elements())), shape, DType::Float32);
}

TEST(Convolution, ShapesAreKerass) {
  EXPECT_EQ(Conv1D(4, 3, {.strides = 2, .padding = "causal"})(zeros({2, 9, 3})).shape(), (Shape{2, 5, 4}));
  EXPECT_EQ(Conv3D(4, {1, 2, 3})(zeros({2, 4, 5, 6, 3})).shape(), (Shape{2, 4, 4, 4, 4}));
  EXPECT_EQ(Conv3D(4, 2, {.padding = "SAME", .data_format = "channels_first"})(zeros({2, 3, 4, 5, 6})).shape(),
            (Shape{2, 4, 4, 5, 6}));
  EXPECT_EQ(DepthwiseConv1D(3, {.depth_multiplier = 2})(zeros({2, 9, 3})).shape(), (Shape{2, 7, 6}));
  EXPECT_EQ(DepthwiseConv2D(3, {.strides = 2, .padding = "same", .dilation_rate = 2})(zeros({2, 9, 8, 3})).shape(),
            (Shape{2, 5, 4, 3}));
  EXPECT_EQ(SeparableConv1D(5, 3, {.depth_multiplier = 2})(zeros({2, 9, 3})).shape(), (Shape{2, 7, 5}));
  EXPECT_EQ(SeparableConv2D(5, 3)(zeros({2, 9, 8, 3})).shape(), (Shape{2, 7, 6, 5}));
  EXPECT_EQ(Conv1DTranspose(4, 3, {.strides = 2})(zeros({2, 5, 3})).shape(), (Shape{2, 11, 4}));
  EXPECT_EQ(Conv2DTranspose(4, 2, {.strides = 3})(zeros({2, 5, 4, 3})).shape(), (Shape{2, 15, 12, 4}));
  EXPECT_EQ(Conv2DTranspose(4, 3, {.strides = 2, .padding = "same", .output_padding = 0})(zeros({2, 5, 4, 3})).shape(),
            (Shape{2, 9, 7, 4}));
  EXPECT_EQ(Conv3DTranspose(4, 2, {.strides = 2, .padding = "same"})(zeros({1, 2, 3, 4, 3})).shape(),
            (Shape{1, 4, 6, 8, 4}));
}

TEST(Convolution, SymbolsWithUnknownSizesPassThrough) {
  const SymbolicTensor image = Input({kUnknown, kUnknown, 3});
  EXPECT_EQ(Conv2D(4, 3)(image).shape(), (Shape{kUnknown, kUnknown, kUnknown, 4}));
  EXPECT_EQ(Conv2DTranspose(4, 3, {.strides = 2})(image).shape(), (Shape{kUnknown, kUnknown, kUnknown, 4}));
  EXPECT_EQ(SeparableConv2D(4, 3)(image).shape(), (Shape{kUnknown, kUnknown, kUnknown, 4}));
}

TEST(Convolution, WeightsAreKerass) {
  const SeparableConv2D layer(5, {3, 2}, {.depth_multiplier = 2});
  layer(zeros({1, 4, 4, 3}));
  const auto& weights = layer->own_weights();
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].first, "depthwise_kernel");
  EXPECT_EQ(weights[0].second.shape(), (Shape{3, 2, 3, 2}));
  EXPECT_EQ(weights[1].first, "pointwise_kernel");
  EXPECT_EQ(weights[1].second.shape(), (Shape{1, 1, 6, 5}));
  EXPECT_EQ(weights[2].first, "bias");
  const Conv2DTranspose transposed(5, 3, {.use_bias = false});
  transposed(zeros({1, 4, 4, 3}));
  ASSERT_EQ(transposed->own_weights().size(), 1u);
  EXPECT_EQ(transposed->own_weights()[0].second.shape(), (Shape{3, 3, 5, 3}));
}

TEST(Convolution, SaysWhichInputItExpects) {
  expect_error(
      [] {
        Conv1D(1, 2, {.name = "c"})(zeros({2, 9}));
      },
      {"Conv1D 'c'", "3 axes (batch, steps, channels)", "(2, 9)", "Reshape"});
  expect_error(
      [] {
        Conv3D(1, 2, {.data_format = "channels_first"})(zeros({2, 9, 1}));
      },
      {"Conv3D", "5 axes (batch, channels, depth, height, width)"});
  expect_error([] { DepthwiseConv2D(2)(zeros({2, 9, 1})); }, {"DepthwiseConv2D", "4 axes"});
  expect_error([] { SeparableConv1D(1, 2)(zeros({2, 9, 1, 1})); }, {"SeparableConv1D", "3 axes"});
  expect_error([] { Conv2DTranspose(1, 2)(zeros({2, 9, 1})); }, {"Conv2DTranspose", "4 axes"});
}

TEST(Convolution, RefusesAKernelLargerThanItsInput) {
  expect_error(
      [] {
        Conv2D(1, 5, {.name = "c"})(zeros({1, 4, 9, 1}));
      },
      {"Conv2D 'c'", "must fit", "(1, 4, 9, 1)", "kernel_size=(5, 5)", "padding='same'"});
  expect_error(
      [] {
        Conv1D(1, 3, {.dilation_rate = 4})(zeros({1, 8, 1}));
      },
      {"Conv1D", "must fit", "dilation_rate=(4,)"});
  expect_error([] { DepthwiseConv1D(9)(zeros({1, 8, 1})); }, {"DepthwiseConv1D", "must fit"});
  expect_error([] { SeparableConv2D(1, {9, 1})(zeros({1, 8, 8, 1})); }, {"SeparableConv2D", "must fit"});
  const Conv2D built(1, 5);
  built(zeros({1, 9, 9, 1}));
  expect_error([&] { built(zeros({1, 4, 9, 1})); }, {"Conv2D", "must fit"});
}

TEST(Convolution, RefusesOtherChannelsThanItWasBuiltFor) {
  const Conv2D conv(1, 2);
  conv(zeros({1, 4, 4, 3}));
  expect_error([&] { conv(zeros({1, 4, 4, 2})); }, {"Conv2D", "3 channels", "(1, 4, 4, 2)"});
  const Conv1DTranspose transposed(1, 2);
  transposed(zeros({1, 4, 3}));
  expect_error([&] { transposed(zeros({1, 4, 2})); }, {"Conv1DTranspose", "3 channels"});
  expect_error([] { Conv2D(4, 2, {.groups = 2})(zeros({1, 4, 4, 3})); }, {"Conv2D", "divisible by groups", "groups=2"});
  expect_error([] { Conv2D(4, 2)(Input({4, 4, kUnknown})); }, {"Conv2D", "channels must be known"});
}

TEST(Convolution, RefusesWrongOptions) {
  expect_error([] { Conv2D(0, 2); }, {"Conv2D", "filters must be positive", "filters=0"});
  expect_error([] { Conv2D(3, 2, {.groups = 2}); }, {"divisible by groups", "filters=3", "groups=2"});
  expect_error([] { Conv2D(3, {2, 2, 2}); }, {"Conv2D", "kernel_size", "(2, 2, 2)"});
  expect_error([] { Conv1D(3, 0); }, {"Conv1D", "kernel_size", "positive"});
  expect_error([] { Conv2D(3, 2, {.strides = 2, .dilation_rate = 2}); },
               {"Conv2D", "cannot both be above 1", "strides=(2, 2)", "dilation_rate=(2, 2)"});
  expect_error([] { Conv2D(3, 2, {.padding = "causal"}); }, {"Conv2D", "'valid' or 'same'", "'causal'"});
  expect_error([] { Conv1D(3, 2, {.padding = "full"}); }, {"Conv1D", "'valid', 'same' or 'causal'", "'full'"});
  expect_error([] { Conv1D(3, 2, {.data_format = "first"}); }, {"Conv1D", "data_format", "'first'"});
  expect_error([] { DepthwiseConv2D(3, {.depth_multiplier = 0}); }, {"DepthwiseConv2D", "depth_multiplier=0"});
  expect_error([] { SeparableConv2D(0, 3); }, {"SeparableConv2D", "filters=0"});
  expect_error([] { Conv2DTranspose(3, 3, {.strides = 2, .output_padding = 2}); },
               {"Conv2DTranspose", "output_padding must be below strides", "output_padding=(2, 2)"});
  expect_error([] { Conv2DTranspose(3, 3, {.output_padding = -1}); },
               {"Conv2DTranspose", "output_padding", "from 0 on"});
}

class SharpConv2D : public Conv2DLayer {
  using Conv2DLayer::Conv2DLayer;
};
COHORT_REGISTER_LAYER("convolution_test", SharpConv2D);

class SlowConvLSTM1D : public RankedConvLSTMLayer<1> {
  using RankedConvLSTMLayer::RankedConvLSTMLayer;
};
COHORT_REGISTER_LAYER("convolution_test", SlowConvLSTM1D);

TEST(Convolution, AUsersSubclassIsSavedUnderItsOwnName) {
  const SymbolicTensor image = Input({4, 4, 1}), sequence = Input({3, 4, 1});
  const auto sharp = make<SharpConv2D>(2, 3, Conv2DOptions{.padding = "same"});
  const auto slow = make<SlowConvLSTM1D>(2, 3, ConvLSTM1DOptions{});
  const Model model(Symbols({image, sequence}), Symbols({sharp(image), slow(sequence)}));
  const std::string json = model_to_json(model);
  EXPECT_NE(json.find("convolution_test>SharpConv2D"), std::string::npos) << json;
  EXPECT_NE(json.find("convolution_test>SlowConvLSTM1D"), std::string::npos) << json;
  const Ref<Model> read = model_from_json(json);
  EXPECT_EQ(read->layers().size(), 4u);
  EXPECT_EQ(model_to_json(*read), json);
}

TEST(Convolution, AWindowOfOnesSums) {
  const Conv2D conv(1, 2, {.kernel_initializer = "ones"});
  test::expect_tensor(conv(counting({1, 3, 3, 1})), DType::Float32, {1, 2, 2, 1}, {8, 12, 20, 24});
  const Conv2D same(2, {2, 2}, {.strides = 2, .padding = "same", .use_bias = false, .kernel_initializer = "ones"});
  test::expect_tensor(same(counting({1, 3, 3, 1})), DType::Float32, {1, 2, 2, 2}, {8, 8, 7, 7, 13, 13, 8, 8});
  test::expect_error(
      [] {
        Conv2D(1, 2, {.name = "c"})(counting({2, 9}));
      },
      {"Conv2D 'c'", "4 axes (batch, height, width, channels)", "(2, 9)", "Reshape"});
  test::expect_tensor(GlobalAveragePooling2D()(counting({1, 2, 2, 2})), DType::Float32, {1, 2}, {3, 4});
}

}  // namespace
}  // namespace cohort::layers
