#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "cohort/config/configurable.h"
#include "cohort/core/op.h"
#include "cohort/core/tensor.h"
#include "cohort/core/text.h"
#include "cohort/data/element.h"
#include "cohort/metrics/metric.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/layer/regularizer.h"
#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/variables/constraint.h"
#include "cohort/variables/initializer.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_creator.h"

namespace cohort {

// How a layer is being called.
struct CallContext {
  // True while the layer is trained: dropout drops, statistics are updated.
  bool training = false;
  // A tree like the inputs, (batch, steps) of booleans as a rule, undefined where an input has none: mask.leaf() for a
  // layer of one input, mask[1].leaf() for the second of several.
  Element mask = {};
  // Call arguments that are not tensors, by Keras's names: {{"use_causal_mask", true}}.
  Attributes arguments = {};
  // Whether somebody said `training`: not so in a bare model(x), where what a functional model recorded counts. None:
  // as in the layer call around this one.
  std::optional<bool> training_said = std::nullopt;
};
// What a caller may say: model(x, {.training = true}).
struct CallOptions {
  // None: as the layer call around this one, false outside of any. Inside a call that nobody told (a bare model(x)),
  // false says no more than that call, for {.training = context.training} hands it on: what a functional model recorded
  // counts still, unless it is called by apply(x, {.training = false, .training_said = true}).
  std::optional<bool> training = std::nullopt;
  // Masks for the inputs, a tree like them; empty: those the inputs carry.
  Element mask = {};
  // Call arguments that are not tensors, by Keras's names: {{"use_causal_mask", true}}.
  Attributes arguments = {};
};

// Shapes in the structure of the inputs.
using ShapeTree = Tree<Shape>;
struct RematMode;

// What Layer::add_weight takes besides name and shape.
struct WeightOptions {
  Ref<Initializer> initializer = {};          // none: glorot_uniform for floats, zeros otherwise
  std::optional<DType> dtype = std::nullopt;  // none: the layer's
  bool trainable = true;
  // Penalty of the weight; none: no penalty.
  Ref<Regularizer> regularizer = {};
  // Projection of the weight after each update; none: no projection.
  Ref<Constraint> constraint = {};
  // How values that replicas hold apart become one.
  Aggregation aggregation = Aggregation::Mean;
  // When they become one: with every write unless it says otherwise.
  Synchronization synchronization = Synchronization::Auto;
  bool autocast = true;  // false: read as it is under mixed precision too (moving statistics)
};

// A step of a model: weights and a computation made of ops. A user derives, makes weights in build() and computes in
// call(). Shapes have the batch as axis 0, unknown while tracing.
class Layer : public Configurable, public std::enable_shared_from_this<Layer> {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.layers";
  Layer();
  ~Layer() override;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  // How messages name it: "Dense 'dense_1'".
  std::string title() const;
  // What every layer's config holds: name, trainable, dtype. An override calls this first.
  void visit_fields(FieldVisitor& visitor) override;
  bool writes_dtype_policy() const override { return true; }

  // Makes the weights for inputs of this shape; called once, before the first call, outside every trace.
  virtual void build(const Shape&) {}
  // The same for layers with several inputs.
  virtual void build_many(const std::vector<Shape>& inputs);
  // The same for layers that name their arguments.
  virtual void build_element(const ShapeTree& inputs);
  // The computation. A layer of one input overrides call, one of several overrides call_many, one that returns more
  // than a tensor overrides call_element.
  virtual Tensor call(const Tensor& input, const CallContext& context);
  // The computation of a layer of several inputs.
  virtual Tensor call_many(const Tensors& inputs, const CallContext& context);
  // The computation of a layer that returns more than a tensor or names its arguments.
  virtual Element call_element(const Element& inputs, const CallContext& context);
  // The tensor arguments of call by Keras's names, in Keras's order: {"query", "value", "key", ...}. A layer that names
  // them gets a dict of the given ones in build_element and call_element (a list argument is a tuple under its name),
  // bare when only the first is given; context.mask is a tree like it. An argument "mask" is handed over as the first
  // one's mask in the context.
  virtual std::vector<std::string> argument_names() const { return {}; }
  // The masks its outputs carry, given those of its inputs (a tree like them); by default these when supports_masking,
  // else none.
  virtual Element compute_mask(const Element& inputs, const Element& mask);

  // Builds if need be and calls, naming the layer in every error and node.
  Tensor operator()(const Tensor& input, const CallOptions& options = {});
  Tensor operator()(const Tensors& inputs, const CallOptions& options = {});
  // The same for any structure of inputs and outputs.
  Element apply(const Element& inputs, const CallContext& context);
  // On symbols: becomes part of a functional model. The layer must be shared (made by its handle or by make<T>).
  SymbolicOutputs operator()(const SymbolicTensor& input, const CallOptions& options = {});
  SymbolicOutputs operator()(const SymbolicOutputs& inputs, const CallOptions& options = {});
  SymbolicOutputs operator()(const std::vector<SymbolicTensor>& inputs, const CallOptions& options = {});
  SymbolicOutputs operator()(std::initializer_list<SymbolicTensor> inputs, const CallOptions& options = {}) {
    return (*this)(std::vector<SymbolicTensor>(inputs), options);
  }
  // The same for any structure of symbols.
  Symbols apply_symbols(const Symbols& inputs, const Attributes& arguments = {});
  // Makes the weights for inputs of these shapes unless that was done.
  void ensure_built_element(const ShapeTree& inputs);
  // The same for a list of inputs.
  void ensure_built(const std::vector<Shape>& inputs);
  // The calls on symbols so far, oldest first.
  const std::vector<std::weak_ptr<LayerCall>>& inbound_calls() const { return inbound_calls_; }
  // The symbol it was called on; throws unless it was called on symbols exactly once.
  SymbolicOutputs input() const;
  // The symbol its call gave; throws unless it was called on symbols exactly once.
  SymbolicOutputs output() const;
  // The shapes of its outputs in the latest call, batch unknown; empty before the first.
  std::vector<Shape> output_shapes() const;

  // Unique among layers of its class: "dense_1", unless given.
  const std::string& name() const;
  // Sets the name.
  void set_name(std::string name) { name_ = std::move(name); }
  // True once the weights exist.
  bool built() const { return built_; }
  // False for a layer whose weights are frozen.
  bool trainable() const { return trainable_; }
  // Freezes or thaws this layer and all below it.
  void set_trainable(bool trainable);
  // The types it computes in and its variables hold.
  const DTypePolicy& dtype_policy() const { return dtype_policy_; }
  // Sets the policy; before the layer is built.
  void set_dtype_policy(const DTypePolicy& policy) { dtype_policy_ = policy; }
  // The type it computes in.
  DType compute_dtype() const { return dtype_policy_.compute_dtype(); }
  // The type its variables hold.
  DType dtype() const { return dtype_policy_.variable_dtype(); }
  // When to compute its outputs again in the backward pass rather than keep what lies between (model/remat.h).
  void set_remat(std::shared_ptr<const RematMode> mode) { remat_ = std::move(mode); }

  // The weights that are trained: this layer's own first, then its sub-layers'.
  Variables trainable_variables() const;
  // The weights that are not, in the same order.
  Variables non_trainable_variables() const;
  // All weights: the trainable ones, then the others.
  Variables weights() const;
  // Number of elements of all weights.
  std::int64_t count_params() const;
  // Host tensors with the values of weights().
  std::vector<Tensor> get_weights() const;
  // Host tensors in the order of weights(); all shapes are checked before the first one is written.
  void set_weights(const std::vector<Tensor>& values);
  // Penalties of the last call: add_loss, regularizers, activity regularizers.
  Tensors losses() const;
  // Forgets the penalties of the last call (symbols of a trace that has ended).
  void clear_losses();
  // Its own metrics, then its sub-layers'.
  virtual std::vector<Ref<Metric>> metrics() const;
  // The layers it consists of, with their Keras attribute names.
  const std::vector<std::pair<std::string, Ref<Layer>>>& sublayers() const { return sublayers_; }
  // Own weights with their Keras attribute names, for files.
  const std::vector<std::pair<std::string, Variable>>& own_weights() const { return own_weights_; }

  // Every layer class that a file may name.
  static Registry<Layer>& registry();
  // A layer of the class registered under this name, with default arguments; throws NotFound for an unknown one.
  static std::shared_ptr<Layer> from_name(std::string_view name) { return registry().make(name); }

  // A shared layer object that can be called: what the names of a user's program (Dense, LSTM, ...) are.
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    // Calls the layer on tensors, or on symbols to build a functional model.
    Tensor operator()(const Tensor& input, const CallOptions& options = {}) const {
      return (*this->get())(input, options);
    }
    Tensor operator()(const Tensors& inputs, const CallOptions& options = {}) const {
      return (*this->get())(inputs, options);
    }
    SymbolicOutputs operator()(const SymbolicTensor& input, const CallOptions& options = {}) const {
      return (*this->get())(input, options);
    }
    SymbolicOutputs operator()(const SymbolicOutputs& inputs, const CallOptions& options = {}) const {
      return (*this->get())(inputs, options);
    }
    SymbolicOutputs operator()(const std::vector<SymbolicTensor>& inputs, const CallOptions& options = {}) const {
      return (*this->get())(inputs, options);
    }
    SymbolicOutputs operator()(std::initializer_list<SymbolicTensor> inputs, const CallOptions& options = {}) const {
      return (*this->get())(std::vector<SymbolicTensor>(inputs), options);
    }
    // The symbol its only call on symbols gave.
    SymbolicOutputs output() const { return this->get()->output(); }
  };

 protected:
  // A weight under Keras's attribute name ("kernel"); also its H5 path.
  Variable add_weight(const std::string& name, const Shape& shape, WeightOptions options = {});
  // A sub-layer under Keras's attribute name ("query_dense"); returns its handle.
  template <class T>
  T track(const std::string& name, T sublayer) {
    track_layer(name, sublayer);
    return sublayer;
  }
  // A sub-layer whose handle is kept elsewhere.
  void track_layer(const std::string& name, Ref<Layer> layer);
  // A metric that belongs to the layer: fit resets it and reports its figure.
  void track_metric(Ref<Metric> metric);
  // Forgets the sub-layer tracked last.
  void untrack_last_layer();
  // The metrics it tracks itself.
  const std::vector<Ref<Metric>>& own_metrics() const { return metrics_; }
  // Adds a scalar to the loss of the current call.
  void add_loss(const Tensor& loss);
  // Says that the weights exist.
  void mark_built() { built_ = true; }
  // Where the weights made in its calls live, whatever scope the caller is in; nullptr: as the caller's scope says.
  virtual VariableCreator* variable_creator() const { return nullptr; }
  // False for one that leaves floating inputs as they come: a model whose layers cast for themselves.
  virtual bool casts_inputs() const { return true; }
  // Notes a call on symbols; the symbols of its outputs.
  Symbols add_call(const Symbols& inputs, const ElementSpec& outputs, const Attributes& arguments = {});
  // Takes over the dtype policy and the name that a layer's options hold.
  template <class Options>
  void take_options(const Options& options) {
    if constexpr (requires { options.dtype; }) set_dtype_policy(options.dtype);
    if (!options.name.empty()) set_name(options.name);
  }
  bool supports_masking_ = false;          // set by a layer that passes the masks of its inputs on
  bool trainable_ = true;                  // set_trainable() sets it for the layers below, too
  Ref<Regularizer> activity_regularizer_;  // its penalty on each output is added to the losses

 private:
  friend class LayerCallScope;
  struct Weight {
    std::string name;
    Variable variable;
    Ref<Regularizer> regularizer;
    bool made_trainable = true;
  };
  void collect_weights(std::vector<const Weight*>& weights) const;
  void collect_losses(Tensors& losses) const;
  Element call_in_policy(const Element& inputs, const CallContext& context);
  void note_outputs(const Element& outputs);

  DTypePolicy dtype_policy_;
  std::shared_ptr<const RematMode> remat_;  // of the scope it was made in
  mutable std::string name_;
  mutable std::mutex mutex_;  // guards the name and what a call leaves behind
  std::atomic<bool> built_ = false;
  std::atomic<bool> tracked_ = false;  // by a layer around it; or warned of
  std::vector<Weight> weights_;
  std::vector<std::pair<std::string, Variable>> own_weights_;
  std::vector<std::pair<std::string, Ref<Layer>>> sublayers_;
  std::vector<Ref<Metric>> metrics_;
  std::vector<std::weak_ptr<LayerCall>> inbound_calls_;
  std::vector<Shape> output_shapes_;
  Tensors call_losses_;
};

// The handle of a layer class.
template <class T>
using LayerHandle = Layer::Handle<T>;

// Starts the counts behind automatic names ("dense_1") over, as keras.utils.clear_session.
void reset_layer_names();
// "Conv2DTranspose" -> "conv2d_transpose", "mine>PReLU" -> "p_re_lu": Keras's form of a class name in names and files.
std::string snake_case_name(std::string_view class_name);
// The next automatic name of a class: "dense", "dense_1", ...
std::string unique_layer_name(const std::string& class_name);

// Makes a user's layer known by name: it is saved and loaded as "package>Class".
#define COHORT_REGISTER_LAYER(package, Class) COHORT_REGISTER(::cohort::Layer, Class, package ">" #Class)

}  // namespace cohort
