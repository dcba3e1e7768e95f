#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/core/tensor.h"
#include "cohort/data/element.h"
#include "cohort/metrics/metric.h"
#include "cohort/model/regularizer.h"
#include "cohort/model/symbolic_tensor.h"
#include "cohort/variables/constraint.h"
#include "cohort/variables/initializer.h"
#include "cohort/variables/variable.h"

namespace cohort {

// How a layer is being called.
struct CallContext {
  bool training = false;
  Tensor mask = {};  // (batch, steps) of booleans that came with the input, undefined when none did
};
// What a caller may say: model(x, {.training = true}).
struct CallOptions {
  bool training = false;
  Tensor mask = {};
};

struct WeightOptions {
  Ref<Initializer> initializer = {};  // none: glorot_uniform for floats, zeros otherwise
  DType dtype = DType::Float32;
  bool trainable = true;
  Ref<Regularizer> regularizer = {};
  Ref<Constraint> constraint = {};
  Aggregation aggregation = Aggregation::Mean;
};

// A step of a model: weights and a computation made of ops. A user derives, makes weights in build() and computes in
// call(). Shapes have the batch as axis 0, unknown while tracing.
class Layer : public Configurable {
 public:
  Layer() = default;
  std::string module_name() const override { return "keras.layers"; }

  // Makes the weights for inputs of this shape; called once, before the first call, outside every trace.
  virtual void build(const Shape&) {}
  virtual void build_many(const std::vector<Shape>& inputs);  // of layers with several inputs
  // The computation. A layer of one input overrides call, one of several overrides call_many, one that returns more
  // than a tensor overrides call_element.
  virtual Tensor call(const Tensor& input, const CallContext& context);
  virtual Tensor call_many(const Tensors& inputs, const CallContext& context);
  virtual Element call_element(const Element& inputs, const CallContext& context);
  // The mask its output carries; by default the input's when supports_masking, else none.
  virtual Tensor compute_mask(const Element& inputs, const Tensor& mask);

  // Builds if need be and calls, naming the layer in every error and node.
  Tensor operator()(const Tensor& input, const CallOptions& options = {});
  Tensor operator()(const Tensors& inputs, const CallOptions& options = {});
  Element apply(const Element& inputs, const CallContext& context);
  // On symbols: becomes part of a functional model.
  SymbolicTensor operator()(const SymbolicTensor& input);
  SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs);

  // Unique among layers of its class: "dense_1", unless given.
  const std::string& name() const;
  void set_name(std::string name) { name_ = std::move(name); }
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }
  // Freezes or thaws this layer and all below it.
  void set_trainable(bool trainable);
  DType dtype() const { return dtype_; }
  bool supports_masking() const { return supports_masking_; }

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
  std::vector<Ref<Metric>> metrics() const;
  const std::vector<std::pair<std::string, Ref<Layer>>>& sublayers() const { return sublayers_; }
  // Own weights with their Keras attribute names, for files.
  const std::vector<std::pair<std::string, Variable>>& own_weights() const { return own_weights_; }

  static Registry<Layer>& registry();
  static std::shared_ptr<Layer> from_name(std::string_view name) { return registry().make(name); }

  // A layer handle can be called.
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    Tensor operator()(const Tensor& input, const CallOptions& options = {}) const { return (*this->get())(input, options); }
    Tensor operator()(const Tensors& inputs, const CallOptions& options = {}) const { return (*this->get())(inputs, options); }
    SymbolicTensor operator()(const SymbolicTensor& input) const { return (*this->get())(input); }
    SymbolicTensor operator()(const std::vector<SymbolicTensor>& inputs) const { return (*this->get())(inputs); }
    SymbolicTensor operator()(std::initializer_list<SymbolicTensor> inputs) const {
      return (*this->get())(std::vector<SymbolicTensor>(inputs));
    }
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
  void add_loss(const Tensor& loss);
  bool supports_masking_ = false;
  bool trainable_ = true;
  DType dtype_ = DType::Float32;
  Ref<Regularizer> activity_regularizer_;

 private:
  struct Weight {
    Variable variable;
    Ref<Regularizer> regularizer;
  };
  mutable std::string name_;
  bool built_ = false;
  std::vector<std::pair<std::string, Variable>> own_weights_;
  std::vector<Weight> regularized_;
  std::vector<std::pair<std::string, Ref<Layer>>> sublayers_;
  std::vector<Ref<Metric>> metrics_;
  Tensors call_losses_;
};

template <class T>
using LayerHandle = Layer::Handle<T>;

}  // namespace cohort
