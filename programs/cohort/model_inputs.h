#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cohort/data/element.h"
#include "cohort/model/model.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort::programs {

// The leaves of a tree as Keras lists them: members of a dict by their keys, in whichever order they were given.
template <class T>
std::vector<T> in_keras_order(const Tree<T>& tree) {
  if (tree.is_leaf()) return {tree.leaf()};
  std::vector<std::size_t> order(tree.size());
  std::iota(order.begin(), order.end(), 0);
  if (tree.kind() == Tree<T>::Kind::Dict) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tree.key(a) < tree.key(b); });
  }
  std::vector<T> leaves;
  for (const std::size_t i : order) {
    for (T& leaf : in_keras_order(tree[i])) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

// The datasets input_0, input_1, ... of a file as the model takes them: in its structure, shapes checked, values in its
// inputs' types.
Element read_inputs(const Model& model, const Hdf5File& file);

}  // namespace cohort::programs
