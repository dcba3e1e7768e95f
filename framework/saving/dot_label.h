#pragma once

#include <string>

#include "cohort/saving/model_to_dot.h"

namespace cohort {

// Text in quotes, as Graphviz reads it.
std::string dot_quoted(const std::string& text);

// The table that stands for a layer: its name and class, and below them what the options ask for.
std::string dot_label(const Layer& layer, const ModelToDotOptions& options);

}  // namespace cohort
