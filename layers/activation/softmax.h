#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct SoftmaxOptions {
  std::vector<std::int64_t> axis = {-1};
  DTypePolicy dtype = {};
  std::string name = {};
};

// A distribution along an axis (over several axes together when more are given); what a mask leaves out gets none.
class SoftmaxLayer : public Layer {
 public:
  explicit SoftmaxLayer(SoftmaxOptions options = {});
  std::string class_name() const override { return "Softmax"; }
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  SoftmaxOptions options_;
};

struct Softmax : LayerHandle<SoftmaxLayer> {
  explicit Softmax(SoftmaxOptions options = {})
      : LayerHandle<SoftmaxLayer>(std::make_shared<SoftmaxLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
