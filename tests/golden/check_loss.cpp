#include "cohort/autodiff/tape.h"
#include "cohort/losses/loss.h"
#include "tests/golden/checks.h"

namespace cohort::golden {

void check_loss(Case& checked) {
  const auto loss = make_object<Loss>(checked);
  const Tensor y_true = checked.given("y_true"), y_pred = checked.given("y_pred");
  const Tensor weight = checked.has("sample_weight") ? checked.given("sample_weight") : Tensor();
  const Tensor mask = checked.has("mask") ? checked.given("mask") : Tensor();
  checked.require(loss->reduction() == checked.text("reduction"), "reduction: is " + loss->reduction());

  GradientTape tape;
  tape.watch(y_pred);
  const Tensor value = (*loss)(y_true, y_pred, weight, mask);
  checked.expect("value", value);
  if (checked.integer("has_gradient") != 0) checked.expect("grad", tape.gradient(value, y_pred));
}

}  // namespace cohort::golden
