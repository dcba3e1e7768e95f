#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/data/dataset_creator.h"
#include "cohort/data/element.h"

namespace cohort {

// Tensors as a caller hands them over: one, a list, a dict by name, or nothing.
class TensorArgument {
 public:
  TensorArgument() = default;
  TensorArgument(const Tensor& tensor) : element_(tensor.defined() ? Element(tensor) : Element()) {}
  TensorArgument(const Tensors& tensors) : element_(Element::tuple({tensors.begin(), tensors.end()})) {}
  TensorArgument(std::initializer_list<Tensor> tensors) : TensorArgument(Tensors(tensors)) {}
  TensorArgument(std::initializer_list<std::pair<std::string, Tensor>> tensors)
      : element_(Element::dict({tensors.begin(), tensors.end()})) {}
  TensorArgument(Element element) : element_(std::move(element)) {}

  // The tensors as a tree.
  const Element& element() const { return element_; }
  // True when nothing was given.
  bool empty() const { return element_.empty(); }

 private:
  Element element_;
};

// Where batches come from: tensors that are cut into batches, a dataset of batches, or a function that makes one.
class DataArgument {
 public:
  DataArgument() = default;
  DataArgument(Dataset dataset) : dataset_(std::move(dataset)) {}
  DataArgument(DatasetCreator creator) : creator_(std::move(creator)) {}
  DataArgument(TensorArgument x, TensorArgument y, TensorArgument sample_weight = {})
      : x_(std::move(x)), y_(std::move(y)), sample_weight_(std::move(sample_weight)) {}

  // True when nothing was given.
  bool empty() const { return !is_dataset() && !is_creator() && !is_tensors(); }
  // True for a dataset of batches.
  bool is_dataset() const { return dataset_.defined(); }
  // True for a function that makes a dataset.
  bool is_creator() const { return creator_.has_value(); }
  // True for tensors.
  bool is_tensors() const { return !x_.empty(); }
  // The dataset.
  const Dataset& dataset() const { return dataset_; }
  // The function that makes a dataset.
  const DatasetCreator& creator() const { return *creator_; }
  // The inputs.
  const Element& x() const { return x_.element(); }
  // The targets; empty when not given.
  const Element& y() const { return y_.element(); }
  // The samples' weights; empty when not given.
  const Element& sample_weight() const { return sample_weight_.element(); }

 private:
  Dataset dataset_;
  std::optional<DatasetCreator> creator_;
  TensorArgument x_, y_, sample_weight_;
};

}  // namespace cohort
