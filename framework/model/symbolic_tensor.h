#pragma once

#include <memory>
#include <string>

#include "cohort/core/tensor.h"

namespace cohort {

class Layer;
struct LayerCall;

// A value of a functional model: made by Input or by calling a layer on other symbols; its shape has the batch as axis
// 0, unknown.
class SymbolicTensor {
 public:
  SymbolicTensor() = default;
  SymbolicTensor(TensorSpec spec, std::shared_ptr<LayerCall> source, int output)
      : spec_(std::move(spec)), source_(std::move(source)), output_(output) {}

  const Shape& shape() const { return spec_.shape; }
  DType dtype() const { return spec_.dtype; }
  const TensorSpec& spec() const { return spec_; }
  const std::shared_ptr<LayerCall>& source() const { return source_; }
  int output() const { return output_; }

 private:
  TensorSpec spec_;
  std::shared_ptr<LayerCall> source_;
  int output_ = 0;
};

struct InputOptions {
  DType dtype = DType::Float32;
  std::string name = {};
  std::int64_t batch_size = kUnknown;
};
// An input of a functional model, of this shape without the batch.
SymbolicTensor Input(const Shape& shape, InputOptions options = {});

}  // namespace cohort
