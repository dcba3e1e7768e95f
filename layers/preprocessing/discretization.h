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
  // Boundaries in ascending order; n of them make n + 1 bins. None: adapt() finds them.
  std::optional<std::vector<double>> bin_boundaries = std::nullopt;
  // Number of bins whose boundaries adapt() finds; either this or bin_boundaries must be given.
  std::optional<std::int64_t> num_bins = std::nullopt;
  // Error of the quantiles that adapt() finds, in (0, 1]: smaller is more exact and slower.
  double epsilon = 0.01;
  // 'int': bin indices; 'one_hot': a vector for each; 'multi_hot': which bins of a row occur; 'count': how often.
  std::string output_mode = "int";
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(DiscretizationOptions, bin_boundaries, num_bins, epsilon, output_mode, sparse)

class DiscretizationLayer : public Layer, public Adaptable {
 public:
  DiscretizationLayer() : DiscretizationLayer(DiscretizationOptions{.num_bins = 1}) {}
  explicit DiscretizationLayer(DiscretizationOptions options);
  bool writes_dtype_policy() const override { return false; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Finds boundaries that cut the data into num_bins about equal parts.
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;
  // The boundaries; none before adapt() where they were not given.
  const std::optional<std::vector<double>>& bin_boundaries() const { return options_.bin_boundaries; }

 private:
  void check_adaptable() const;

  DiscretizationOptions options_;
};

// Replaces numbers by the index of the bin they lie in: bin i holds boundary[i - 1] <= x < boundary[i].
// Input any shape of numbers, output int32 of the same shape; with 'one_hot' a last axis of bins is added, in place of
// one of size 1, with 'multi_hot' and 'count' (batch, n) becomes (batch, bins).
struct Discretization : LayerHandle<DiscretizationLayer> {
  explicit Discretization(DiscretizationOptions options);
  // Finds boundaries that cut the data into num_bins parts of about equal size: from samples (batch, ...) or from all
  // batches of a dataset, of which the first tensor counts.
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
};

}  // namespace cohort::layers
