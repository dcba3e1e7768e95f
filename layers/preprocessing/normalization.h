#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/config/nested_numbers.h"
#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct NormalizationOptions {
  // Axes whose every index has a mean and variance of its own; by default the last. Empty: one of each for all numbers.
  std::vector<std::int64_t> axis = {-1};
  // Mean in place of adapt(), with the variance: a number, or one for each index of the axes. None: adapt() finds both.
  std::optional<NestedNumbers> mean = std::nullopt;
  // Variance in place of adapt(), of the mean's shape.
  std::optional<NestedNumbers> variance = std::nullopt;
  // Whether the layer undoes a normalization: input * sqrt(variance) + mean.
  bool invert = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(NormalizationOptions, axis, invert, mean, variance)

class NormalizationLayer : public Layer, public Adaptable {
 public:
  explicit NormalizationLayer(NormalizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Takes mean and variance from data (batch, ...); of a dataset, from all its batches (the first leaf of each).
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;

 private:
  struct Moments;
  void check_given() const;
  void set_moments(const Moments& moments);
  // A mean or variance under a shape that broadcasts to the input's.
  Tensor spread(const Tensor& moment) const;

  NormalizationOptions options_;
  Shape broadcast_shape_;  // sizes of kept axes, 1 elsewhere
  std::vector<std::int64_t> kept_, reduced_;
  Variable mean_, variance_, count_;
};

// Shifts and scales the input to mean 0 and variance 1: (input - mean) / sqrt(variance), with moments that are given or
// learned by adapt().
// Input any shape, output of the same shape in the layer's compute type.
struct Normalization : LayerHandle<NormalizationLayer> {
  explicit Normalization(NormalizationOptions options = {});
  // Takes mean and variance from data: from samples (batch, ...) or from all batches of a dataset, of which the first
  // tensor counts.
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
};

}  // namespace cohort::layers
