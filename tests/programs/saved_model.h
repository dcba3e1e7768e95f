#pragma once

#include <string>

#include "cohort/layers/core/dense.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/model/model.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/adam.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort::test {

// A model of two inputs ("left", 3 wide; "right", 2 wide) and two outputs (4 and 1 wide).
inline Model two_sided_model() {
  const SymbolicTensor left = Input({3}, {.name = "left"}), right = Input({2}, {.name = "right"});
  const SymbolicTensor both = layers::Concatenate()({left, right});
  return Model({left, right}, {layers::Dense(4, {.activation = "tanh", .name = "wide"})(both),
                               layers::Dense(1, {.name = "narrow"})(both)});
}

// A trained Sequential, 3 wide, whose optimizer has state.
inline void train_a_little(Sequential& model) {
  model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse"});
  model.fit(Tensor::full({4, 3}, 0.5), Tensor::full({4, 2}, 1.0), {.epochs = 1, .verbose = 0});
}

// Numbers that differ from each other.
inline Tensor ramp(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i) - 0.4f;
  return Tensor::of(values, shape, cpu());
}

inline void write_datasets(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& datasets) {
  Hdf5File file = Hdf5File::create(path);
  for (const auto& [name, value] : datasets) file.write(name, value);
  file.close();
}

}  // namespace cohort::test
