#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct DiscretizationOptions {
  std::optional<std::vector<double>> bin_boundaries = std::nullopt;
  std::optional<std::int64_t> num_bins = std::nullopt;  // in place of boundaries: adapt() finds them
  double epsilon = 0.01;                                // error of the quantiles that adapt() finds
  std::string output_mode = "int";                      // "int", "one_hot", "multi_hot", "count"
  bool sparse = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

// The number of the interval each value lies in: boundary i - 1 <= value < boundary i.
class DiscretizationLayer : public Layer, public Adaptable {
 public:
  explicit DiscretizationLayer(DiscretizationOptions options);
  std::string class_name() const override { return "Discretization"; }
  bool writes_dtype_policy() const override { return false; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Finds boundaries that cut the data into num_bins about equal parts.
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;
  const std::optional<std::vector<double>>& bin_boundaries() const { return options_.bin_boundaries; }

 private:
  void check_adaptable() const;

  DiscretizationOptions options_;
};

struct Discretization : LayerHandle<DiscretizationLayer> {
  explicit Discretization(DiscretizationOptions options)
      : LayerHandle<DiscretizationLayer>(std::make_shared<DiscretizationLayer>(std::move(options))) {}
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
};

}  // namespace cohort::layers
