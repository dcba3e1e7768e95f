#include "cohort/core/host_kernel.h"

#include <vector>

namespace cohort {
namespace {

// Outputs of the CPU's kernel, on the host until it is done.
class HostResults : public OutputAllocator {
 public:
  explicit HostResults(const Specs& specs) : specs_(specs), tensors_(specs.size()) {}
  void* allocate(int output, const Shape& shape) override {
    Tensor& tensor = tensors_[static_cast<std::size_t>(output)];
    tensor = Tensor::empty(specs_[static_cast<std::size_t>(output)].dtype, shape, cpu());
    return tensor.raw();
  }
  const Tensor& operator[](int output) const { return tensors_[static_cast<std::size_t>(output)]; }

 private:
  const Specs& specs_;
  Tensors tensors_;
};

class HostKernel {
 public:
  HostKernel(const KernelSpec& spec, KernelFn kernel)
      : device_(&spec.device()), kernel_(std::move(kernel)), random_(spec.call().op().is_random()) {
    for (int i = 0; i < spec.num_inputs(); ++i) inputs_.push_back(spec.input(i));
    outputs_.assign(spec.outputs().begin(), spec.outputs().end());
    written_.resize(inputs_.size());
    // A variable among the inputs points to its value.
    for (const VariableClaim& claim : spec.call().op().claims_of(spec.call())) {
      inputs_[static_cast<std::size_t>(claim.input)] = claim.spec;
      written_[static_cast<std::size_t>(claim.input)] = spec.call().op().writes_resources();
    }
  }

  void operator()(const KernelIO& io) const {
    const auto inputs = static_cast<int>(inputs_.size()), outputs = static_cast<int>(outputs_.size());
    Tensors read;
    HostResults results(outputs_);
    std::vector<void*> arguments;
    for (int i = 0; i < inputs; ++i) {
      const TensorSpec& spec = inputs_[static_cast<std::size_t>(i)];
      read.push_back(Tensor::empty(spec.dtype, spec.shape, cpu()));
      device_->copy_to_host(read.back().raw(), io.inputs[i], read.back().bytes());
      arguments.push_back(read.back().raw());
    }
    for (int i = 0; i < outputs; ++i) {
      const Shape& shape = outputs_[static_cast<std::size_t>(i)].shape;
      arguments.push_back(io.outputs[i] ? results.allocate(i, shape) : nullptr);
    }
    RandomState random;
    if (random_) device_->copy_to_host(&random, io.random, sizeof random);
    const KernelCall call{&kernel_, arguments.data(), inputs, outputs};
    cpu().run({&call, 1}, &random, &results);
    for (int i = 0; i < inputs; ++i) {
      const Tensor& tensor = read[static_cast<std::size_t>(i)];
      if (written_[static_cast<std::size_t>(i)]) device_->copy_from_host(io.inputs[i], tensor.raw(), tensor.bytes());
    }
    for (int i = 0; i < outputs; ++i) {
      const Tensor& tensor = results[i];
      void* target = io.outputs[i] ? io.outputs[i] : io.allocator->allocate(i, tensor.shape());
      device_->copy_from_host(target, tensor.raw(), tensor.bytes());
    }
  }

 private:
  Device* device_;
  KernelFn kernel_;
  bool random_;
  Specs inputs_, outputs_;     // of a variable: its value
  std::vector<bool> written_;  // inputs that are variables it writes
};

}  // namespace

KernelFn make_host_kernel(const KernelSpec& spec) {
  return HostKernel(spec, make_kernel(KernelSpec(spec.call(), spec.outputs(), cpu())));
}

}  // namespace cohort
