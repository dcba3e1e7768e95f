#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/model.h"

namespace cohort {

struct PlotModelOptions {
  std::string to_file = "model.png";
  bool show_shapes = false;
  bool show_dtype = false;
  bool show_layer_names = false;
  std::string rankdir = "TB";
  bool expand_nested = false;
  std::int64_t dpi = 200;
  bool show_layer_activations = false;
  bool show_trainable = false;
  std::string splines = "ortho";
};

// Draws a model into a file: .dot (or .gv) in Graphviz's language, or .svg, .png, .pdf, .jpg as a picture made by its
// program `dot`, which must be installed. The options are those of model_to_dot. Whole or not at all.
void plot_model(const Model& model, PlotModelOptions options = {});

}  // namespace cohort
