#pragma once

#include <string>
#include <vector>

#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/adam.h"
#include "cohort/saving/checkpoint.h"

// A small compiled model whose values say who they are.
namespace cohort::checkpoint_run {

inline Tensor counted(const Shape& shape, double first) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(first + static_cast<double>(i) / 8);
  return Tensor::of(values, shape);
}

struct Trained {
  explicit Trained(std::int64_t units = 5, Ref<Optimizer> optimizer = optimizers::Adam(1e-3))
      : model({layers::Dense(units, {.activation = "relu"}), layers::Dense(3)}) {
    model.build(Shape{kUnknown, 4});
    model.compile({.optimizer = std::move(optimizer), .loss = "mse"});
    model.optimizer()->ensure_built(model.trainable_variables());
  }
  Variables variables() const {
    Variables all = model.weights();
    const Variables& state = model.optimizer()->variables();
    all.insert(all.end(), state.begin(), state.end());
    return all;
  }
  // Every value its own.
  void fill(double first) const {
    for (const Variable& each : variables()) write_now(each, counted(each.shape(), first += 100));
  }
  std::vector<std::vector<double>> values() const {
    std::vector<std::vector<double>> all;
    for (const Variable& each : variables()) all.push_back(read_now(each).to_vector<double>());
    return all;
  }
  Sequential model;
};

}  // namespace cohort::checkpoint_run
