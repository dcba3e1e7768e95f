#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/core/tensor.h"
#include "cohort/data/element.h"

namespace cohort {

class Layer;
struct LayerCall;

// A value of a functional model: made by Input or by calling a layer on other symbols; its shape has the batch as axis
// 0, unknown.
class SymbolicTensor {
 public:
  // An undefined symbol.
  SymbolicTensor() = default;
  // Output number `output` of a layer's call.
  SymbolicTensor(TensorSpec spec, std::shared_ptr<LayerCall> source, int output)
      : spec_(std::move(spec)), source_(std::move(source)), output_(output) {}

  // True for one that Input or a layer made.
  bool defined() const { return static_cast<bool>(source_); }
  // Its shape, the batch as axis 0.
  const Shape& shape() const { return spec_.shape; }
  // Type of its elements.
  DType dtype() const { return spec_.dtype; }
  // Shape and dtype.
  const TensorSpec& spec() const { return spec_; }
  // The layer's call that makes it.
  const std::shared_ptr<LayerCall>& source() const { return source_; }
  // Which of the call's outputs it is.
  int output() const { return output_; }

 private:
  TensorSpec spec_;
  std::shared_ptr<LayerCall> source_;
  int output_ = 0;
};

// The inputs or outputs of a functional model: one symbol, a list, or a dict by name.
class Symbols : public Tree<SymbolicTensor> {
 public:
  Symbols() = default;
  Symbols(Tree<SymbolicTensor> tree) : Tree(std::move(tree)) {}
  Symbols(SymbolicTensor symbol) : Tree(std::move(symbol)) {}
  Symbols(const std::vector<SymbolicTensor>& symbols)
      : Tree(Tree::tuple(std::vector<Tree>(symbols.begin(), symbols.end()))) {}
  Symbols(std::initializer_list<SymbolicTensor> symbols) : Symbols(std::vector<SymbolicTensor>(symbols)) {}
  Symbols(std::initializer_list<std::pair<std::string, SymbolicTensor>> symbols)
      : Tree(Tree::dict(std::vector<Named>(symbols.begin(), symbols.end()))) {}
};

// One call of a layer on symbols. Holds the layer; symbols hold the call.
struct LayerCall {
  // The layer that was called.
  std::shared_ptr<Layer> layer;
  // What it was called on.
  Symbols inputs;
  // Types and shapes of its outputs.
  ElementSpec outputs;
  Attributes arguments;  // those that are not symbols
  int index = 0;         // among the calls of its layer
};

// What Input takes besides the shape.
struct InputOptions {
  DType dtype = DType::Float32;
  std::string name = {};
  // Size of axis 0; kUnknown: any.
  std::int64_t batch_size = kUnknown;
};
// An input of a functional model.
//   shape: without the batch; kUnknown for an axis of any size.
SymbolicTensor Input(const Shape& shape, InputOptions options = {});

}  // namespace cohort
