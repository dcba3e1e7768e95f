#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/core/tensor.h"
#include "cohort/data/element.h"

namespace cohort {

class Layer;
class SymbolicOutputs;
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
  // All that a layer or model gave, in its structure.
  Symbols(const SymbolicOutputs& outputs);
  Symbols(const std::vector<SymbolicTensor>& symbols)
      : Tree(Tree::tuple(std::vector<Tree>(symbols.begin(), symbols.end()))) {}
  Symbols(std::initializer_list<SymbolicTensor> symbols) : Symbols(std::vector<SymbolicTensor>(symbols)) {}
  Symbols(std::initializer_list<std::pair<std::string, SymbolicTensor>> symbols)
      : Tree(Tree::dict(std::vector<Named>(symbols.begin(), symbols.end()))) {}
};

// What a layer or model gives when called on symbols: one symbol where it has one output, and where it has several all
// of them, by place, by name or in turn. To take several for one symbol is an error.
class SymbolicOutputs {
 public:
  // The outputs in their structure.
  explicit SymbolicOutputs(Symbols outputs) : symbols_(std::move(outputs)), all_(symbols_.flatten()) {}
  // Takes one symbol in the place of the outputs, so that `x = x + 1.0` goes on where `auto x = layer(y)` began.
  SymbolicOutputs& operator=(const SymbolicTensor& symbol) { return *this = SymbolicOutputs(Symbols(symbol)); }
  // The only output; throws where there are several.
  operator SymbolicTensor() const { return one(); }
  // All outputs, in order.
  operator std::vector<SymbolicTensor>() const { return all_; }
  // The outputs in their structure.
  const Symbols& symbols() const { return symbols_; }

  // How many outputs, or groups of them, there are to index.
  std::size_t size() const { return symbols_.is_leaf() ? 1 : symbols_.size(); }
  // The output, or group of them, at a place among several.
  SymbolicOutputs operator[](std::size_t place) const;
  // The same by its name, for outputs that have names.
  SymbolicOutputs operator[](std::string_view name) const;
  // All N outputs: auto [sequence, h, c] = lstm(x).unpack<3>().
  template <std::size_t N>
  std::array<SymbolicTensor, N> unpack() const {
    check_count(N);
    std::array<SymbolicTensor, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = all_[i];
    return result;
  }
  // Over all outputs, in order.
  std::vector<SymbolicTensor>::const_iterator begin() const { return all_.begin(); }
  std::vector<SymbolicTensor>::const_iterator end() const { return all_.end(); }

  // As those of the only output; they throw where there are several.
  const Shape& shape() const { return one().shape(); }
  // Type of its elements.
  DType dtype() const { return one().dtype(); }
  // Shape and dtype.
  const TensorSpec& spec() const { return one().spec(); }
  // The layer's call that makes it.
  const std::shared_ptr<LayerCall>& source() const { return one().source(); }
  // True for what Input or a layer made.
  bool defined() const { return !all_.empty() && all_[0].defined(); }

 private:
  const SymbolicTensor& one() const;
  void check_count(std::size_t count) const;
  Symbols symbols_;
  std::vector<SymbolicTensor> all_;
};

inline Symbols::Symbols(const SymbolicOutputs& outputs) : Symbols(outputs.symbols()) {}

// What stands beside a symbol in an operation: a symbol, a number, or a tensor, which becomes part of the model.
class SymbolicOperand {
 public:
  SymbolicOperand(SymbolicTensor symbol) : value_(std::move(symbol)) {}
  SymbolicOperand(Tensor tensor) : value_(std::move(tensor)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> SymbolicOperand(Number number)
      : value_(Value(static_cast<std::conditional_t<std::is_integral_v<Number>, std::int64_t, double>>(number))) {}
  using Value = std::variant<SymbolicTensor, double, std::int64_t, Tensor>;
  // What it is.
  const Value& value() const { return value_; }

 private:
  Value value_;
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
