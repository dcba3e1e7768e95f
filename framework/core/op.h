#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/core/concat.h"
#include "cohort/core/tensor.h"

namespace cohort {

class OpDef;

// Rows of a gradient that is zero elsewhere: row indices[i] of a tensor shaped like `like` receives values[i]. The same
// row may occur more than once; the sum counts.
struct IndexedSlices {
  // The rows, (count, ...).
  Tensor values;
  // Their numbers, (count).
  Tensor indices;
  Tensor like;  // a tensor with the dense shape and type
  // The resource by which the replica that has computed them meets others in step, which have slices of their own;
  // undefined: these are all there are.
  Tensor collective = {};

  // Other rows with the same numbers.
  IndexedSlices with_values(Tensor other) const { return {std::move(other), indices, like, collective}; }
  // A sum over these rows as that over the rows of all replicas, which must all ask for it.
  Tensor over_replicas(const Tensor& sum) const;
  // The same for several sums, which cross together.
  Tensors over_replicas(const Tensors& sums) const;
  // Whether rows themselves cross between replicas, by AllReduceRows.
  bool rows_cross() const;
};

// What flows backwards: nothing, a tensor, or slices of one.
class Gradient {
 public:
  // Nothing, a tensor or slices.
  Gradient() = default;
  Gradient(Tensor tensor) : value_(std::move(tensor)) {}
  Gradient(IndexedSlices slices) : value_(std::move(slices)) {}

  // True unless it is nothing.
  bool defined() const { return is_slices() || std::get<Tensor>(value_).defined(); }
  // True for slices.
  bool is_slices() const { return std::holds_alternative<IndexedSlices>(value_); }
  // The slices.
  const IndexedSlices& slices() const { return std::get<IndexedSlices>(value_); }
  // The dense tensor; slices are scattered into zeros, those of all replicas.
  Tensor dense() const;
  // dense().
  operator Tensor() const { return dense(); }
  // What a function of single elements makes of it. Slices stay slices, each by itself: what uses their squares must
  // not see them added up.
  Gradient map(const std::function<Tensor(const Tensor&)>& function) const;

 private:
  std::variant<Tensor, IndexedSlices> value_;
};
// A gradient for each of several sources.
using Gradients = std::vector<Gradient>;

// One call of an op, as its definition sees it. While shapes are inferred there are only specs; a gradient also sees
// the tensors, concrete or symbolic.
class OpCall {
 public:
  OpCall(const OpDef& op, const Attributes& attributes, std::span<const TensorSpec> specs,
         std::span<const Tensor> inputs = {}, std::span<const Tensor> outputs = {})
      : op_(&op), attributes_(&attributes), specs_(specs), inputs_(inputs), outputs_(outputs) {}

  // The op's definition.
  const OpDef& op() const { return *op_; }
  // The op's name.
  const char* name() const;
  // The attributes given.
  const Attributes& attributes() const { return *attributes_; }
  // The attribute given, else the op's default.
  template <class T>
  T attr(std::string_view name) const {
    return (attributes_->has(name) ? *attributes_ : defaults()).template get<T>(name);
  }
  // Whether the attribute is given or has a default.
  bool has_attr(std::string_view name) const { return attributes_->has(name) || defaults().has(name); }

  // Number of inputs.
  int num_inputs() const { return static_cast<int>(specs_.size()); }
  // Type and shape of input i.
  const TensorSpec& spec(int i) const;
  // Shape of input i.
  const Shape& shape(int i) const { return spec(i).shape; }
  // Type of input i.
  DType dtype(int i) const { return spec(i).dtype; }
  // Number of axes of input i.
  int rank(int i) const { return spec(i).shape.rank(); }
  // Input i; of a gradient alone.
  const Tensor& input(int i) const { return inputs_[i]; }
  // Output i; of a gradient alone.
  const Tensor& output(int i) const { return outputs_[i]; }
  // All inputs; of a gradient alone.
  std::span<const Tensor> inputs() const { return inputs_; }
  // All outputs; of a gradient alone.
  std::span<const Tensor> outputs() const { return outputs_; }

  // Throws InvalidArgument naming the op, unless `condition`.
  void check(bool condition, std::string_view expected, std::initializer_list<Received> received = {}) const {
    if (!condition) throw invalid_argument(name(), expected, received);
  }

 private:
  const Attributes& defaults() const;
  const OpDef* op_;
  const Attributes* attributes_;
  std::span<const TensorSpec> specs_;
  std::span<const Tensor> inputs_;
  std::span<const Tensor> outputs_;
};

// What a call takes the memory of a variable among its inputs for.
struct VariableClaim {
  // Which input it is.
  int input;
  // What its value must be.
  TensorSpec spec;
  // Throws InvalidArgument in `who`'s name unless the resource is a variable of this type and shape.
  void check(std::string_view who, const Resource& resource) const;
};
// The claims of a call.
using VariableClaims = std::vector<VariableClaim>;

// Types and shapes of several tensors.
using Specs = std::vector<TensorSpec>;
// The outputs' types and shapes from a call's.
using InferFn = std::function<Specs(const OpCall&)>;
// Gets the gradients of all outputs (undefined where none flows), returns one for each input.
using GradientFn = std::function<Gradients(const OpCall&, std::span<const Tensor>)>;
// The claims of a call.
using ClaimsFn = std::function<VariableClaims(const OpCall&)>;

// The definition of an op: its name, attributes, shape rule, gradient and traits. Built once, at load time.
class OpDef {
 public:
  explicit OpDef(std::string name) : name_(std::move(name)) {}

  // An optional attribute with its default; one without a default is simply required by whoever reads it.
  template <class T>
  OpDef& attr(std::string name, T value) {
    if constexpr (std::is_same_v<T, int>) {
      defaults_.set(name, AttributeValue(std::int64_t{value}));
    } else if constexpr (std::is_convertible_v<T, std::string> && !std::is_same_v<T, AttributeValue>) {
      defaults_.set(name, AttributeValue(std::string(value)));
    } else {
      defaults_.set(name, AttributeValue(value));
    }
    return *this;
  }
  // Number of inputs: at least `minimum`, at most `maximum`; -1: any number; left out: exactly `minimum`.
  OpDef& inputs(int minimum, int maximum = -2);
  // The shape rule.
  OpDef& infer(InferFn infer);
  // For ops of one output: (call, dy) -> a gradient per input.
  template <class F>
  requires std::is_invocable_v<F, const OpCall&, const Tensor&> OpDef& gradient(F f) {
    return gradient_of_all([f](const OpCall& call, std::span<const Tensor> dy) { return collect(f(call, dy[0])); });
  }
  // For ops of several outputs: (call, span of dy).
  template <class F>
  requires(std::is_invocable_v<F, const OpCall&, std::span<const Tensor>> &&
           !std::is_invocable_v<F, const OpCall&, const Tensor&>) OpDef& gradient(F f) {
    return gradient_of_all([f](const OpCall& call, std::span<const Tensor> dy) { return collect(f(call, dy)); });
  }
  // Declares that no gradient flows through: its inputs' gradients are nothing.
  OpDef& not_differentiable();
  // Draws random numbers: never folded, merged or repeated.
  OpDef& random();
  // Has effects beyond its outputs (a write, a print, an assertion): kept, in order, even when nobody uses it.
  OpDef& stateful();
  // Reads the resources among its inputs.
  OpDef& reads();
  // Writes to the resources among its inputs.
  OpDef& writes();
  // What a call takes the variables among its inputs for: kernels see their memory only, so whoever runs one checks it.
  OpDef& claims(ClaimsFn claims);
  // Shapes of its outputs depend on values: they are allocated while it runs.
  OpDef& dynamic_outputs();
  // Output 0 is input 0's memory under another shape: costs nothing in a planned graph.
  OpDef& alias();
  // An element of output 0 depends only on the same elements of the inputs (which broadcast), so that it may be written
  // over an input of its shape.
  OpDef& elementwise();
  // Output 0 may be written over this input where both have one shape: a kernel reads an element of it before it writes
  // to its place and not afterwards.
  OpDef& may_overwrite(int input);
  // Runs on the host whatever the device: strings, iterators.
  OpDef& host_only();
  // Refuses values, not only types and shapes: called by itself, it is waited for, so that the caller gets the error.
  OpDef& checks();

  // The op's name.
  const std::string& name() const { return name_; }
  // The attributes' defaults.
  const Attributes& defaults() const { return defaults_; }
  // Whether it has a gradient.
  bool has_gradient() const { return static_cast<bool>(gradient_); }
  // False when it was declared not to be.
  bool is_differentiable() const { return differentiable_; }
  // Whether it draws random numbers.
  bool is_random() const { return random_; }
  // Whether it has effects beyond its outputs.
  bool is_stateful() const { return stateful_ || writes_; }
  // Whether it reads resources.
  bool reads_resources() const { return reads_; }
  // Whether it writes to resources.
  bool writes_resources() const { return writes_; }
  // Whether its outputs' shapes depend on values.
  bool has_dynamic_outputs() const { return dynamic_outputs_; }
  // Whether output 0 is input 0's memory.
  bool is_alias() const { return alias_; }
  // Whether an element of output 0 depends only on the same elements of the inputs.
  bool is_elementwise() const { return elementwise_; }
  // Whether output 0 may be written over an input of its shape.
  bool overwrites(int input) const { return elementwise_ || input == overwritten_; }
  // Whether it runs on the host whatever the device.
  bool is_host_only() const { return host_only_; }
  // Whether it refuses values.
  bool checks_values() const { return checks_; }

  // Checks the number of inputs and the shapes; the outputs' specs.
  Specs infer_outputs(std::span<const TensorSpec> inputs, const Attributes& attributes) const;
  // The gradient of each input from those of the outputs.
  Gradients gradients(const OpCall& call, std::span<const Tensor> output_gradients) const;
  // What a call takes the variables among its inputs for.
  VariableClaims claims_of(const OpCall& call) const { return claims_ ? claims_(call) : VariableClaims{}; }

 private:
  OpDef& gradient_of_all(GradientFn gradient);
  static Gradients collect(Gradients gradients) { return gradients; }
  static Gradients collect(Tensors tensors) { return Gradients(tensors.begin(), tensors.end()); }

  std::string name_;
  Attributes defaults_;
  int min_inputs_ = 0, max_inputs_ = -1;
  InferFn infer_;
  GradientFn gradient_;
  ClaimsFn claims_;
  bool differentiable_ = true, random_ = false, stateful_ = false, reads_ = false, writes_ = false;
  bool dynamic_outputs_ = false, alias_ = false, elementwise_ = false, host_only_ = false, checks_ = false;
  int overwritten_ = -1;
};

// A new op of this name, to be defined.
OpDef& register_op(std::string name);
// The op of this name; throws NotFound for a name nobody registered.
const OpDef& find_op(std::string_view name);
// Every registered op.
std::vector<const OpDef*> all_ops();

// A shape rule: one output like this.
inline Specs same_as(const TensorSpec& spec) { return {spec}; }

#define COHORT_OP(name) static ::cohort::OpDef& COHORT_CONCAT(cohort_op_, __COUNTER__) = ::cohort::register_op(name)

}  // namespace cohort
