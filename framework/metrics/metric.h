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

// What every metric takes, in Keras's order.
struct MetricOptions {
  std::string name = {};  // left out: the metric's own
  DType dtype = DType::Float32;
};

// A running figure over batches: state variables, an update that adds a batch, a result computed from the state. All
// three are made of ops, so the update becomes part of the step's graph. A user derives and overrides
// update_state() and result().
class Metric : public Configurable {
 public:
  explicit Metric(std::string name, DType dtype = DType::Float32);
  std::string class_name() const override { return "Metric"; }
  std::string module_name() const override { return "keras.metrics"; }
  void visit_fields(FieldVisitor& visitor) override;

  virtual void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) = 0;
  virtual Tensor result() = 0;
  // Zeroes every state variable unless overridden.
  virtual void reset_state();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  DType dtype() const { return dtype_; }
  const Variables& variables() const { return variables_; }

  static Registry<Metric>& registry();
  static std::shared_ptr<Metric> from_name(std::string_view name) { return registry().make(name); }

  template <class U>
  struct Handle : Ref<U> {
    using Ref<U>::Ref;
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
