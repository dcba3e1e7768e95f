#include "cohort/autodiff/tape.h"
#include "cohort/model/layer/regularizer.h"
#include "cohort/variables/constraint.h"
#include "tests/golden/checks.h"

namespace cohort::golden {

void check_regularizer(Case& checked) {
  if (checked.text("kind") == "constraint") {
    const auto constraint = make_object<Constraint>(checked);
    checked.expect("value", (*constraint)(checked.given("weight")));
    return;
  }
  const auto regularizer = make_object<Regularizer>(checked);
  const Tensor weight = checked.given("weight");
  GradientTape tape;
  tape.watch(weight);
  const Tensor value = (*regularizer)(weight);
  checked.expect("value", value);
  checked.expect("grad", tape.gradient(value, weight));
}

}  // namespace cohort::golden
