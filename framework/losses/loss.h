#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"

namespace cohort {

// What training minimises: a value per sample, reduced to one. A user derives and overrides call().
class Loss : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.losses";
  explicit Loss(std::string name = "loss", std::string reduction = "sum_over_batch_size");
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

  // Per-sample values of shape y_pred.shape without the last axis (before weights and reduction).
  virtual Tensor call(const Tensor& y_true, const Tensor& y_pred) = 0;
  // Like call(), with the mask of the values that count when some do not.
  virtual std::pair<Tensor, Tensor> call_masked(const Tensor& y_true, const Tensor& y_pred) {
    return {call(y_true, y_pred), Tensor()};
  }
  // The loss: call(), times `sample_weight` (broadcast as Keras does), masked, reduced. Without a mask, y_pred's own.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    const Tensor& mask = {});

  // The name, and how the values become one.
  const std::string& name() const { return name_; }
  const std::string& reduction() const { return reduction_; }

  // The known losses, and one of them made by its class name or Keras's short name: 'mse', 'categorical_crossentropy'.
  static Registry<Loss>& registry();
  static std::shared_ptr<Loss> from_name(std::string_view name) { return registry().make(name); }

  // A loss handle can be called: loss_fn(y, logits).
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    // The reduced loss of labels and predictions; sample_weight is (batch), or of the shape of the loss's values.
    Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const {
      return (*this->get())(y_true, y_pred, sample_weight);
    }
  };

 protected:
  // True when y_true holds class numbers: they keep their integer type instead of taking that of y_pred.
  virtual bool labels_are_classes() const { return false; }

  std::string name_;
  std::string reduction_;  // "sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"
};

// The options of a loss that has none of its own.
struct LossOptions {
  std::string reduction = "sum_over_batch_size";
  // Name in messages and configs. Empty: the class's own, such as 'mean_squared_error'.
  std::string name = {};
};

// Keras's reduction of per-sample values, shared with weighted metrics.
Tensor reduce_weighted(Tensor values, const Tensor& sample_weight, const Tensor& mask, const std::string& reduction);
// Removes or adds a last axis of size 1 so that y_true and y_pred agree in rank, as Keras does.
std::pair<Tensor, Tensor> squeeze_or_expand_to_same_rank(const Tensor& y_true, const Tensor& y_pred);
// Weights (undefined: all one) with what the mask leaves out set to zero; for a mean, the rest is scaled up so that the
// mean runs over what the mask keeps. Undefined when there is neither.
Tensor apply_mask(const Tensor& sample_weight, const Tensor& mask, DType dtype, const std::string& reduction);

}  // namespace cohort
