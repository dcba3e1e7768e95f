// ResNet-50 from its blocks, layer for layer as Keras's application: weights of one open in the other.
// Usage: resnet50 [--smoke]
#include <cohort/cohort.h>

#include <iostream>
#include <string>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;

namespace {

ch::SymbolicTensor normalized(const ch::SymbolicTensor& x, const std::string& name) {
  return layers::BatchNormalization({.epsilon = 1.001e-5, .name = name + "_bn"})(x);
}

// 1x1, 3x3, 1x1; what comes in is added to what goes out.
ch::SymbolicTensor bottleneck(const ch::SymbolicTensor& input, std::int64_t filters, std::int64_t stride, bool projects,
                              const std::string& name) {
  ch::SymbolicTensor shortcut = input;
  if (projects) {
    shortcut = layers::Conv2D(4 * filters, 1, {.strides = stride, .name = name + "_0_conv"})(input);
    shortcut = normalized(shortcut, name + "_0");
  }
  ch::SymbolicTensor x = layers::Conv2D(filters, 1, {.strides = stride, .name = name + "_1_conv"})(input);
  x = layers::Activation("relu", {.name = name + "_1_relu"})(normalized(x, name + "_1"));
  x = layers::Conv2D(filters, 3, {.padding = "same", .name = name + "_2_conv"})(x);
  x = layers::Activation("relu", {.name = name + "_2_relu"})(normalized(x, name + "_2"));
  x = normalized(layers::Conv2D(4 * filters, 1, {.name = name + "_3_conv"})(x), name + "_3");
  x = layers::Add({.name = name + "_add"})({shortcut, x});
  return layers::Activation("relu", {.name = name + "_out"})(x);
}

ch::Ref<ch::Model> resnet50(std::int64_t size, std::int64_t classes) {
  ch::SymbolicTensor image = ch::Input({size, size, 3});
  ch::SymbolicTensor x = layers::ZeroPadding2D(3, {.name = "conv1_pad"})(image);
  x = normalized(layers::Conv2D(64, 7, {.strides = 2, .name = "conv1_conv"})(x), "conv1");
  x = layers::Activation("relu", {.name = "conv1_relu"})(x);
  x = layers::ZeroPadding2D(1, {.name = "pool1_pad"})(x);
  x = layers::MaxPooling2D(3, {.strides = 2, .name = "pool1_pool"})(x);
  const int blocks[] = {3, 4, 6, 3};
  std::int64_t filters = 64;
  for (int stack = 0; stack < 4; ++stack, filters *= 2) {
    for (int block = 0; block < blocks[stack]; ++block) {
      const std::string name = "conv" + std::to_string(stack + 2) + "_block" + std::to_string(block + 1);
      x = bottleneck(x, filters, stack > 0 && block == 0 ? 2 : 1, block == 0, name);
    }
  }
  x = layers::GlobalAveragePooling2D({.name = "avg_pool"})(x);
  x = layers::Dense(classes, {.activation = "softmax", .name = "predictions"})(x);
  return ch::make<ch::Model>(image, x, ch::ModelOptions{.name = "resnet50"});
}

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  const std::int64_t size = smoke ? 32 : 224, images = smoke ? 2 : 32;
  const auto model = resnet50(size, 1000);
  std::cout << "Weights: " << model->count_params() << "\n";
  model->compile(
      {.optimizer = ch::optimizers::SGD(0.01, {.momentum = 0.9}), .loss = "sparse_categorical_crossentropy"});
  // Made-up images: put ImageNet here.
  const ch::Tensor x = ch::ops::random_uniform({images, size, size, 3}),
                   y = ch::ops::zeros({images, 1}, ch::DType::Int32);
  const ch::History history = model->fit(x, y, {.epochs = 2, .verbose = smoke ? 0 : 1});
  std::cout << "Loss: " << history["loss"][0] << " then " << history["loss"][1] << "\n";
}
