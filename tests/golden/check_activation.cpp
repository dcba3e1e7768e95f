#include "cohort/autodiff/tape.h"
#include "cohort/model/layer/activation.h"
#include "tests/golden/checks.h"

namespace cohort::golden {

void check_activation(Case& checked) {
  const std::string name = checked.class_name();
  if (!Activation::registry().has(name)) throw Skipped{"no activation " + name};
  const auto activation = Activation::registry().make(name);
  read_config(*activation, checked.json("config"));
  const Tensor input = checked.given("inputs/0");
  GradientTape tape;
  tape.watch(input);
  const Tensor output = (*activation)(input);
  checked.expect("outputs/0", output);
  if (checked.has("upstream/0")) {
    checked.expect("grad_inputs/0", tape.gradients({output}, {input}, {checked.given("upstream/0")})[0].dense());
  }
}

}  // namespace cohort::golden
