#pragma once

#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/layer.h"
#include "cohort/ops/pooling.h"

namespace cohort::layers {

struct PoolingOptions {
  // Step between windows along each spatial axis, one number for all or one each; empty: pool_size.
  Window strides = {};
  std::string padding = "valid";
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(PoolingOptions, padding, strides, data_format)

// What the layers share that reduce windows of 1, 2 or 3 axes to one element: (batch, ..., channels) to (batch, windows
// along each axis, channels).
class PoolingLayer : public Layer {
 public:
  PoolingLayer(int axes, Window pool_size, PoolingOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  // The reduction itself; the options say where the channels are.
  virtual Tensor pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                      const ops::PoolOptions& options) const = 0;

 private:
  int axes_;
  Window pool_size_;
  PoolingOptions options_;
};

}  // namespace cohort::layers
