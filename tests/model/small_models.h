#pragma once

#include <cmath>
#include <vector>

#include "cohort/model/sequential.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

// Layers and data small enough to be computed by hand.
namespace cohort::testing_models {

// y = x w + b
class Linear : public Layer {
 public:
  explicit Linear(std::int64_t units = 1, std::string initializer = "zeros")
      : units_(units), initializer_(std::move(initializer)) {}
  void build(const Shape& input) override {
    kernel_ = add_weight("kernel", {input.back(), units_}, {.initializer = initializer_});
    bias_ = add_weight("bias", {units_}, {.initializer = "zeros"});
  }
  Tensor call(const Tensor& x, const CallContext&) override { return ops::matmul(x, kernel_) + bias_; }

 private:
  std::int64_t units_;
  std::string initializer_;
  Variable kernel_, bias_;
};

// Ten samples of y = 2 x + 1.
inline Tensor line_x() {
  std::vector<float> x;
  for (int i = 0; i < 10; ++i) x.push_back(0.1f * static_cast<float>(i));
  return Tensor::of(x, {10, 1});
}
inline Tensor line_y() {
  std::vector<float> y;
  for (int i = 0; i < 10; ++i) y.push_back(0.2f * static_cast<float>(i) + 1.0f);
  return Tensor::of(y, {10, 1});
}

inline std::vector<float> all_weights(const Layer& layer) {
  std::vector<float> values;
  for (const Tensor& weight : layer.get_weights()) {
    for (float value : weight.to_vector<float>()) values.push_back(value);
  }
  return values;
}

// Gradient descent on the mean squared error of a line, written out.
struct LineByHand {
  float w = 0.0f, b = 0.0f;
  // One step on the samples [first, last); their loss before it.
  float step(const std::vector<float>& x, const std::vector<float>& y, std::size_t first, std::size_t last, float rate,
             const std::vector<float>& weights = {}) {
    const float n = static_cast<float>(last - first);
    float loss = 0, dw = 0, db = 0;
    for (std::size_t i = first; i < last; ++i) {
      const float weight = weights.empty() ? 1.0f : weights[i];
      const float error = w * x[i] + b - y[i];
      loss += weight * error * error / n;
      dw += weight * 2 * error * x[i] / n;
      db += weight * 2 * error / n;
    }
    w -= rate * dw;
    b -= rate * db;
    return loss;
  }
};

}  // namespace cohort::testing_models
