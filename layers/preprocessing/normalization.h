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
  std::vector<std::int64_t> axis = {-1};             // each index along these has its own mean; none: one for all
  std::optional<NestedNumbers> mean = std::nullopt;  // given: with the variance, in place of adapt()
  std::optional<NestedNumbers> variance = std::nullopt;
  bool invert = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

// (input - mean) / sqrt(variance), element by element, or the inverse of it. Mean and variance come from adapt() or are
// given; they are weights of the shape of the kept axes.
class NormalizationLayer : public Layer, public Adaptable {
 public:
  explicit NormalizationLayer(NormalizationOptions options = {});
  std::string class_name() const override { return "Normalization"; }
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

struct Normalization : LayerHandle<NormalizationLayer> {
  explicit Normalization(NormalizationOptions options = {})
      : LayerHandle<NormalizationLayer>(std::make_shared<NormalizationLayer>(std::move(options))) {}
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
};

}  // namespace cohort::layers
