#include "cohort/model/output_pairs.h"

namespace cohort {
namespace {

// Tensors of an element in the outputs' order; a dict is read by name.
Tensors in_order(const Element& element, const std::vector<std::string>& names) {
  if (element.kind() != Element::Kind::Dict) return element.flatten();
  Tensors tensors;
  for (const std::string& name : names) {
    const Element* found = element.find(name);
    tensors.push_back(found && found->is_leaf() ? found->leaf() : Tensor());
  }
  return tensors;
}

}  // namespace

OutputPairs pair_outputs(const Element& y_true, const Element& y_pred, const Element& sample_weight,
                         const std::vector<std::string>& names) {
  OutputPairs pairs;
  pairs.y_pred = y_pred.flatten();
  if (y_pred.kind() == Element::Kind::Dict && y_pred.size() == pairs.y_pred.size()) {
    for (std::size_t i = 0; i < y_pred.size(); ++i) pairs.names.push_back(y_pred.key(i));
  } else {
    pairs.names = names;
    // A model that computes in code has no names for its outputs: they are counted.
    for (std::size_t i = pairs.names.size(); i < pairs.y_pred.size(); ++i) {
      pairs.names.push_back("output_" + std::to_string(i + 1));
    }
    pairs.names.resize(pairs.y_pred.size());
  }
  pairs.y_true = in_order(y_true, pairs.names);
  if (pairs.y_true.empty()) pairs.y_true.resize(pairs.y_pred.size());
  if (pairs.y_true.size() != pairs.y_pred.size()) {
    throw invalid_argument("Model", "a target for each output is expected",
                           {{"targets", pairs.y_true.size()}, {"outputs", in_brackets(pairs.names)}});
  }
  pairs.sample_weight = in_order(sample_weight, pairs.names);
  if (pairs.sample_weight.size() < pairs.y_pred.size()) {
    const Tensor shared = pairs.sample_weight.empty() ? Tensor() : pairs.sample_weight[0];
    pairs.sample_weight.assign(pairs.y_pred.size(), shared);
  }
  return pairs;
}

}  // namespace cohort
