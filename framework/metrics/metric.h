#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/config/configurable.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/variable.h"

namespace cohort {

// The options of a metric that has none of its own.
struct MetricOptions {
  // Name in logs and history. Empty: the class's own, such as 'mean_squared_error'.
  std::string name = {};
  DType dtype = DType::Float32;
};

// A running figure over batches: state variables, an update that adds a batch, a result computed from the state. All
// three are made of ops, so the update becomes part of the step's graph. A user derives and overrides
// update_state() and result().
class Metric : public Configurable {
 public:
  // Keras's module of this family.
  static constexpr const char* kModule = "keras.metrics";
  explicit Metric(std::string name, DType dtype = DType::Float32);
  void visit_fields(FieldVisitor& visitor) override;

  // Adds a batch to the state; sample_weight is (batch), or has a weight for each value.
  virtual void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) = 0;
  // The figure over all batches since the last reset.
  virtual Tensor result() = 0;
  // Zeroes every state variable unless overridden.
  virtual void reset_state();

  // The name, the type of the state, and the state's variables.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  DType dtype() const { return dtype_; }
  const Variables& variables() const { return variables_; }

  // The known metrics, and one of them made by its class name or Keras's short name: 'accuracy', 'mse'.
  static Registry<Metric>& registry();
  static std::shared_ptr<Metric> from_name(std::string_view name) { return registry().make(name); }

  // A metric's handle: m.update_state(y, model(x)), m.result().
  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
    // Adds a batch; gives the figure over all batches; forgets them.
    void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const {
      this->get()->update_state(y_true, y_pred, sample_weight);
    }
    Tensor result() const { return this->get()->result(); }
    void reset_state() const { this->get()->reset_state(); }
  };

 protected:
  // A state variable; merged over replicas and workers by `aggregation`.
  Variable add_variable(const std::string& name, const Shape& shape, double initial = 0.0,
                        Aggregation aggregation = Aggregation::Sum);

 private:
  std::string name_;
  DType dtype_;
  Variables variables_;
};

}  // namespace cohort
