#pragma once

#include <memory>

#include "cohort/graph/graph.h"

namespace cohort {
class Model;
}

namespace cohort::callbacks {

// The graph of a model's training step, named for people: variables by their paths, batches as data/input_<i>,
// gradients by the layers they belong to. nullptr before the first step and when steps run eagerly.
std::unique_ptr<Graph> named_train_graph(Model& model);

}  // namespace cohort::callbacks
