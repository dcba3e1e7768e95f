#include <gtest/gtest.h>

#include "cohort/layers/layers.h"

namespace cohort::layers {
namespace {

TEST(LayerNames, AreThoseOfTheirClasses) {
  for (const char* name : {"Dense", "Flatten", "Reshape", "Dropout", "Rescaling", "Conv2D", "ReLU", "PReLU", "Softmax",
                           "Concatenate", "Add", "Permute", "RepeatVector", "Identity", "Activation", "ELU"}) {
    EXPECT_EQ(Ref<Layer>(name)->class_name(), name);
  }
}

}  // namespace
}  // namespace cohort::layers
