#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/model.h"

namespace cohort {

// What model_to_dot takes besides the model.
struct ModelToDotOptions {
  // Show the shapes of layers' inputs and outputs.
  bool show_shapes = false;
  // Show the layers' types.
  bool show_dtype = false;
  // Show the layers' names beside their classes.
  bool show_layer_names = true;
  std::string rankdir = "TB";  // top to bottom; "LR": left to right
  bool expand_nested = false;  // models inside it as boxes of their layers
  // Dots per inch of a picture.
  std::int64_t dpi = 200;
  // Show the layers' activations.
  bool show_layer_activations = false;
  // Show whether layers are trained.
  bool show_trainable = false;
  std::string splines = "ortho";  // "curved", "polyline", "spline", "line"
};

// A model's layers and what feeds what, in Graphviz's language, as Keras's model_to_dot draws them. A model that
// computes in code is one box. Throws when the model is not built.
std::string model_to_dot(const Model& model, ModelToDotOptions options = {});

}  // namespace cohort
