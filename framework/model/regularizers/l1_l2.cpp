#include "cohort/model/regularizers/l1_l2.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::regularizers {
namespace {

Tensor l1_penalty(const Tensor& weight, double factor) { return ops::sum(ops::abs(weight)) * factor; }
Tensor l2_penalty(const Tensor& weight, double factor) { return ops::sum(ops::square(weight)) * factor; }

}  // namespace

void L1L2Regularizer::visit_fields(FieldVisitor& visitor) { visit_options(options_, visitor); }

Tensor L1L2Regularizer::operator()(const Tensor& weight) const {
  const auto [l1, l2] = options_;
  if (l1 == 0.0 && l2 == 0.0) return Tensor::scalar(0.0, weight.dtype());
  if (l1 == 0.0) return l2_penalty(weight, l2);
  if (l2 == 0.0) return l1_penalty(weight, l1);
  return l1_penalty(weight, l1) + l2_penalty(weight, l2);
}

Tensor L1Regularizer::operator()(const Tensor& weight) const { return l1_penalty(weight, l1_); }
Tensor L2Regularizer::operator()(const Tensor& weight) const { return l2_penalty(weight, l2_); }

COHORT_REGISTER(Regularizer, L1L2Regularizer, "L1L2");
COHORT_REGISTER(Regularizer, L1Regularizer, "L1", "l1");
COHORT_REGISTER(Regularizer, L2Regularizer, "L2", "l2");

namespace {

// Keras's function of this name has other defaults than its class.
[[maybe_unused]] const bool l1_l2_function_registered = Regularizer::registry().add("l1_l2", [] {
  return std::make_shared<L1L2Regularizer>(L1L2Options{0.01, 0.01});
});

}  // namespace
L1L2::L1L2(L1L2Options options) : Ref(std::make_shared<L1L2Regularizer>(options)) {}
L1::L1(double l1) : Ref(std::make_shared<L1Regularizer>(l1)) {}
L2::L2(double l2) : Ref(std::make_shared<L2Regularizer>(l2)) {}

}  // namespace cohort::regularizers
