// The activation functions as objects that configs name.

#include "cohort/model/activations.h"
#include "cohort/model/layer/activation.h"

namespace cohort::activations {
namespace {

// A function without arguments.
class FunctionActivation : public Activation {
 public:
  FunctionActivation(const char* name, Tensor (*function)(const Tensor&)) : name_(name), function_(function) {}
  std::string class_name() const override { return name_; }
  Tensor operator()(const Tensor& x) const override { return function_(x); }

 private:
  const char* name_;
  Tensor (*function_)(const Tensor&);
};

// A function of one further argument.
template <class Argument>
class WithArgument : public Activation {
 public:
  using Function = Tensor (*)(const Tensor&, Argument);
  WithArgument(const char* name, const char* argument, Argument value, Function function)
      : name_(name), argument_(argument), value_(value), function_(function) {}
  std::string class_name() const override { return name_; }
  void visit_fields(FieldVisitor& visitor) override { visitor.field(argument_, value_); }
  Tensor operator()(const Tensor& x) const override { return function_(x, value_); }

 private:
  const char* name_;
  const char* argument_;
  Argument value_;
  Function function_;
};

class Relu : public Activation {
 public:
  void visit_fields(FieldVisitor& visitor) override {
    visitor.field("negative_slope", negative_slope_);
    visitor.field("max_value", max_value_);
    visitor.field("threshold", threshold_);
  }
  Tensor operator()(const Tensor& x) const override { return relu(x, negative_slope_, max_value_, threshold_); }

 private:
  double negative_slope_ = 0.0;
  std::optional<double> max_value_;
  double threshold_ = 0.0;
};

class Threshold : public Activation {
 public:
  void visit_fields(FieldVisitor& visitor) override {
    visitor.field("threshold", threshold_);
    visitor.field("default_value", default_value_);
  }
  Tensor operator()(const Tensor& x) const override { return threshold(x, threshold_, default_value_); }

 private:
  double threshold_ = 0.0, default_value_ = 0.0;
};

COHORT_REGISTER(Activation, Relu, "relu");
COHORT_REGISTER(Activation, Threshold, "threshold");

void add_activation(const char* name, Tensor (*function)(const Tensor&),
                    std::initializer_list<const char*> aliases = {}) {
  Activation::registry().add(
      name, [=] { return std::make_shared<FunctionActivation>(name, function); }, aliases);
}

template <class Argument>
void add_activation(const char* name, const char* argument, Argument value,
                    Tensor (*function)(const Tensor&, Argument)) {
  Activation::registry().add(name,
                             [=] { return std::make_shared<WithArgument<Argument>>(name, argument, value, function); });
}

[[maybe_unused]] const bool activations_registered = [] {
  add_activation("linear", linear);
  add_activation("relu6", relu6);
  add_activation("leaky_relu", "negative_slope", 0.2, leaky_relu);
  add_activation("elu", "alpha", 1.0, elu);
  add_activation("selu", selu);
  add_activation("celu", "alpha", 1.0, celu);
  add_activation("gelu", "approximate", false, gelu);
  add_activation("silu", silu, {"swish"});
  add_activation("mish", mish);
  add_activation("glu", "axis", -1, glu);
  add_activation("exponential", exponential);
  add_activation("sigmoid", sigmoid);
  add_activation("log_sigmoid", log_sigmoid);
  add_activation("hard_sigmoid", hard_sigmoid);
  add_activation("hard_silu", hard_silu, {"hard_swish"});
  add_activation("sparse_sigmoid", sparse_sigmoid);
  add_activation("tanh", tanh);
  add_activation("hard_tanh", hard_tanh);
  add_activation("softplus", softplus);
  add_activation("squareplus", "b", 4.0, squareplus);
  add_activation("sparse_plus", sparse_plus);
  add_activation("softsign", softsign);
  add_activation("tanh_shrink", tanh_shrink);
  add_activation("soft_shrink", "threshold", 0.5, soft_shrink);
  add_activation("hard_shrink", "threshold", 0.5, hard_shrink);
  add_activation("softmax", "axis", -1, softmax);
  add_activation("log_softmax", "axis", -1, log_softmax);
  add_activation("sparsemax", "axis", -1, sparsemax);
  return true;
}();

}  // namespace
}  // namespace cohort::activations
