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
  bool training = false;
  // A tree like the inputs, (batch, steps) of booleans as a rule, undefined where an input has none: mask.leaf() for a
  // layer of one input, mask[1].leaf() for the second of several.
  Element mask = {};
  // Call arguments that are not tensors, by Keras's names: {{"use_causal_mask", true}}.
  Attributes arguments = {};
};
// What a caller may say: model(x, {.training = true}). Without masks, those the inputs carry are used.
struct CallOptions {
  std::optional<bool> training = std::nullopt;  // none: as the layer call around this one, false outside of any
  Element mask = {};
  Attributes arguments = {};
};

using ShapeTree = Tree<Shape>;
struct RematMode;

struct WeightOptions {
  Ref<Initializer> initializer = {};          // none: glorot_uniform for floats, zeros otherwise
  std::optional<DType> dtype = std::nullopt;  // none: the layer's
  bool trainable = true;
  Ref<Regularizer> regularizer = {};
  Ref<Constraint> constraint = {};
  Aggregation aggregation = Aggregation::Mean;
  bool autocast = true;  // false: read as it is under mixed precision too (moving statistics)
};

// A step of a model: weights and a computation made of ops. A user derives, makes weights in build() and computes in
// call(). Shapes have the batch as axis 0, unknown while tracing.
class Layer : public Configurable, public std::enable_shared_from_this<Layer> {
 public:
  Layer();
  ~Layer() override;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  // The name it is registered under; a user's class says "package>Name", one that is not registered its C++ name.
  std::string class_name() const override;
  std::string module_name() const override;
  // What every layer's config holds: name, trainable, dtype. An override calls this first.
  void visit_fields(FieldVisitor& visitor) override;
  bool writes_dtype_policy() const override { return true; }

  // Makes the weights for inputs of this shape; called once, before the first call, outside every trace.
  virtual void build(const Shape&) {}
  virtual void build_many(const std::vector<Shape>& inputs);  // of layers with several inputs
  virtual void build_element(const ShapeTree& inputs);        // of layers that name their arguments
  // The computation. A layer of one input overrides call, one of several overrides call_many, one that returns more
  // than a tensor overrides call_element.
  virtual Tensor call(const Tensor& input, const CallContext& context);
  virtual Tensor call_many(const Tensors& inputs, const CallContext& context);
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
  Element apply(const Element& inputs, const CallContext& context);
  // On symbols: becomes part of a functional model. The layer must be shared (made by its handle or by make<T>).
  SymbolicTensor operator()(const SymbolicTensor& input, const CallOptions& options = {});
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs, const CallOptions& options = {});
  SymbolicTensor operator()(std::initializer_list<SymbolicTensor> inputs, const CallOptions& options = {}) {
    return (*this)(std::vector<SymbolicTensor>(inputs), options);
  }
  Symbols apply_symbols(const Symbols& inputs, const Attributes& arguments = {});
  // Makes the weights for inputs of these shapes unless that was done.
  void ensure_built_element(const ShapeTree& inputs);
  void ensure_built(const std::vector<Shape>& inputs);
  // The calls on symbols so far, oldest first; input() and output() are those of the only one.
  const std::vector<std::weak_ptr<LayerCall>>& inbound_calls() const { return inbound_calls_; }
  SymbolicTensor input() const;
  SymbolicTensor output() const;
  // The shapes of its outputs in the latest call, batch unknown; empty before the first.
  std::vector<Shape> output_shapes() const;

  // Unique among layers of its class: "dense_1", unless given.
  const std::string& name() const;
  void set_name(std::string name) { name_ = std::move(name); }
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }
  // Freezes or thaws this layer and all below it.
  void set_trainable(bool trainable);
  // What it computes in and what its variables hold; dtype() is the latter.
  const DTypePolicy& dtype_policy() const { return dtype_policy_; }
  void set_dtype_policy(const DTypePolicy& policy) { dtype_policy_ = policy; }
  DType compute_dtype() const { return dtype_policy_.compute_dtype(); }
  DType dtype() const { return dtype_policy_.variable_dtype(); }
  bool supports_masking() const { return supports_masking_; }
  // When to compute its outputs again in the backward pass rather than keep what lies between (model/remat.h).
  void set_remat(std::shared_ptr<const RematMode> mode) { remat_ = std::move(mode); }

  // In Keras's order: this layer's own first, then its sub-layers'; trainable ones before the others in weights().
  Variables trainable_variables() const;
  Variables non_trainable_variables() const;
  Variables weights() const;
  std::int64_t count_params() const;
  std::vector<Tensor> get_weights() const;
  // Host tensors in the order of weights(); all shapes are checked before the first one is written.
  void set_weights(const std::vector<Tensor>& values);
  // Penalties of the last call: add_loss, regularizers, activity regularizers.
  Tensors losses() const;
  // Forgets the penalties of the last call (symbols of a trace that has ended).
  void clear_losses();
  virtual std::vector<Ref<Metric>> metrics() const;
  const std::vector<std::pair<std::string, Ref<Layer>>>& sublayers() const { return sublayers_; }
  // Own weights with their Keras attribute names, for files.
  const std::vector<std::pair<std::string, Variable>>& own_weights() const { return own_weights_; }

  static Registry<Layer>& registry();
  static std::shared_ptr<Layer> from_name(std::string_view name) { return registry().make(name); }

  // A layer handle can be called.
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    Tensor operator()(const Tensor& input, const CallOptions& options = {}) const {
      return (*this->get())(input, options);
    }
    Tensor operator()(const Tensors& inputs, const CallOptions& options = {}) const {
      return (*this->get())(inputs, options);
    }
    SymbolicTensor operator()(const SymbolicTensor& input, const CallOptions& options = {}) const {
      return (*this->get())(input, options);
    }
    SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs, const CallOptions& options = {}) const {
      return (*this->get())(inputs, options);
    }
    SymbolicTensor operator()(std::initializer_list<SymbolicTensor> inputs, const CallOptions& options = {}) const {
      return (*this->get())(std::vector<SymbolicTensor>(inputs), options);
    }
    SymbolicTensor output() const { return this->get()->output(); }
  };

 protected:
  // A weight under Keras's attribute name ("kernel"); also its H5 path.
  Variable add_weight(const std::string& name, const Shape& shape, WeightOptions options = {});
  // A sub-layer or metric under Keras's attribute name ("query_dense").
  template <class T>
  T track(const std::string& name, T sublayer) {
    track_layer(name, sublayer);
    return sublayer;
  }
  void track_layer(const std::string& name, Ref<Layer> layer);
  void track_metric(Ref<Metric> metric);
  void untrack_last_layer();
  const std::vector<Ref<Metric>>& own_metrics() const { return metrics_; }
  void add_loss(const Tensor& loss);
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
  bool supports_masking_ = false;
  bool trainable_ = true;
  Ref<Regularizer> activity_regularizer_;

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
  std::vector<Weight> weights_;
  std::vector<std::pair<std::string, Variable>> own_weights_;
  std::vector<std::pair<std::string, Ref<Layer>>> sublayers_;
  std::vector<Ref<Metric>> metrics_;
  std::vector<std::weak_ptr<LayerCall>> inbound_calls_;
  std::vector<Shape> output_shapes_;
  Tensors call_losses_;
};

template <class T>
using LayerHandle = Layer::Handle<T>;

// Starts the counts behind automatic names ("dense_1") anew, as keras.utils.clear_session.
void reset_layer_names();
// "Conv2DTranspose" -> "conv2d_transpose", "mine>PReLU" -> "p_re_lu": Keras's form of a class name in names and files.
std::string snake_case_name(std::string_view class_name);
// The next automatic name of a class: "dense", "dense_1", ...
std::string unique_layer_name(const std::string& class_name);

bool register_layer_class(const std::string& registered_name, const std::type_info& type, Registry<Layer>::Maker maker);
template <class T>
bool register_layer_class(const std::string& package, const std::string& name) {
  return register_layer_class(package + ">" + name, typeid(T), [package, name]() -> std::shared_ptr<Layer> {
    if constexpr (std::is_default_constructible_v<T>) {
      return std::make_shared<T>();
    } else {
      throw unimplemented("Layer '" + package + ">" + name + "'",
                          "a layer made by its name needs a constructor without arguments");
    }
  });
}

// Makes a user's layer known by name: it is saved and loaded as "package>Class".
#define COHORT_REGISTER_LAYER(package, Class)                                    \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_layer_, __COUNTER__) = \
      ::cohort::register_layer_class<Class>(package, #Class)

}  // namespace cohort
