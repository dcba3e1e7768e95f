#include "tests/support/weight_values.h"

namespace cohort::test {

WeightValues values_of(const Model& model) {
  WeightValues values;
  for (const Tensor& weight : model.get_weights()) values.push_back(weight.to_vector<float>());
  return values;
}

}  // namespace cohort::test
