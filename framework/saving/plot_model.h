#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/model.h"

namespace cohort {

// What plot_model takes besides the model.
struct PlotModelOptions {
  // File to write; its ending decides the form: .dot, .gv, .svg, .png, .pdf or .jpg.
  std::string to_file = "model.png";
  // Show the shapes of layers' inputs and outputs.
  bool show_shapes = false;
  // Show the layers' types.
  bool show_dtype = false;
  // Show the layers' names beside their classes.
  bool show_layer_names = false;
  // "TB": top to bottom; "LR": left to right.
  std::string rankdir = "TB";
  // Models inside it as boxes of their layers.
  bool expand_nested = false;
  // Dots per inch of a picture.
  std::int64_t dpi = 200;
  // Show the layers' activations.
  bool show_layer_activations = false;
  // Show whether layers are trained.
  bool show_trainable = false;
  // Form of the edges: "ortho", "curved", "polyline", "spline" or "line".
  std::string splines = "ortho";
};

// Draws a model into a file: .dot (or .gv) in Graphviz's language, or .svg, .png, .pdf, .jpg as a picture made by its
// program `dot`, which must be installed. The options are those of model_to_dot. Whole or not at all.
void plot_model(const Model& model, PlotModelOptions options = {});

}  // namespace cohort
