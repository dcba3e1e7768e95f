#include "cohort/core/dispatch.h"

#include <algorithm>
#include <string_view>

#include "cohort/core/device.h"
#include "cohort/core/device_spec.h"
#include "cohort/core/kernel_cache.h"
#include "cohort/core/kernel_work.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// Output memory for kernels that decide their own shapes.
class EagerAllocator : public OutputAllocator {
 public:
  EagerAllocator(const Specs& specs, Device& device) : specs_(specs), device_(device), tensors(specs.size()) {}
  void* allocate(int output, const Shape& shape) override {
    Tensor& tensor = tensors[static_cast<std::size_t>(output)];
    const DType dtype = specs_[static_cast<std::size_t>(output)].dtype;
    tensor = dtype == DType::String
                 ? Tensor::of_strings(std::vector<std::string>(static_cast<std::size_t>(shape.num_elements())), shape)
                 : Tensor::empty(dtype, shape, device_);
    return tensor.raw();
  }

 private:
  const Specs& specs_;
  Device& device_;

 public:
  Tensors tensors;
};

class EagerSubject : public KernelSubject {
 public:
  EagerSubject(const OpCall& call, const Specs& outputs) : call_(call), outputs_(outputs) {}
  KernelWork work() const override { return work_of(call_, outputs_); }

 private:
  const OpCall& call_;
  const Specs& outputs_;
};

// The device an eager op runs on: the host for strings; where its variable lies; that of the replica which meets
// others; else the one a scope names, else where its plain inputs lie; those on the host go where another one lies.
Device& device_for(const OpDef& op, const Tensors& inputs) {
  auto is_string = [](const Tensor& input) { return input.dtype() == DType::String; };
  if (op.is_host_only() || std::any_of(inputs.begin(), inputs.end(), is_string)) return cpu();
  if (Device* scoped = scoped_local_device(); scoped && std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
                                                return t.dtype() == DType::Resource;
                                              })) {
    return *scoped;
  }
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::Resource) continue;
    const std::string_view kind = input.resource()->kind();
    if (kind == "Variable") return input.resource()->shared_value().device();
    if (kind == "Collective") return default_device();
  }
  Device* device = nullptr;
  for (const Tensor& input : inputs) {
    if (!input.buffer()) continue;
    if (!device || device->host_readable()) device = &input.device();
  }
  return device ? *device : default_device();
}

// A kernel that uses several variables needs the memory of all.
void check_one_device(const OpDef& op, const Tensors& inputs, const Device& device) {
  const auto is_resource = [](const Tensor& input) { return input.dtype() == DType::Resource; };
  if (std::count_if(inputs.begin(), inputs.end(), is_resource) < 2) return;
  for (const Tensor& input : inputs) {
    if (!is_resource(input) || input.resource()->kind() != std::string_view("Variable")) continue;
    const Device& lies_on = input.resource()->shared_value().device();
    if (&lies_on == &device) continue;
    throw invalid_argument(
        op.name(), "variables of one call must lie on one device",
        {{"variable", in_quotes(input.resource()->name())}, {"device", lies_on.name()}, {"other", device.name()}},
        "Read the one that lies elsewhere before.");
  }
}

// Whatever an op may do, the ops of such a graph may do.
bool holds_graph(const Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](const Attributes::Entry& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.value);
  });
}

}  // namespace

Dispatcher* top_dispatcher() { return ThreadScope<Dispatcher, Dispatcher*>::current(); }
std::uint64_t current_trace() { return TraceScope::current(); }

Tensors Dispatcher::dispatch_below(const OpDef& op, const Tensors& inputs, const Attributes& attributes) const {
  const auto* below = place_->outer();
  return below ? below->value()->dispatch(op, inputs, attributes) : run_eagerly(op, inputs, attributes);
}

Tensors run_op_all(std::string_view name, const Tensors& inputs, const Attributes& attributes) {
  const OpDef& op = find_op(name);
  Dispatcher* top = top_dispatcher();
  return top ? top->dispatch(op, inputs, attributes) : run_eagerly(op, inputs, attributes);
}

Tensor run_op(std::string_view name, const Tensors& inputs, const Attributes& attributes) {
  return run_op_all(name, inputs, attributes)[0];
}

Tensors run_eagerly(const OpDef& op, const Tensors& inputs, const Attributes& attributes) {
  return run_eagerly(op, inputs, attributes, {.seed = global_seed()});
}

ResourceOwner* owner_of(std::string_view op, std::span<const Tensor> inputs) {
  const Resource* first = nullptr;
  ResourceOwner* owner = nullptr;
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::Resource || input.is_symbolic()) continue;
    Resource& resource = *input.resource();
    if (!first) {
      first = &resource;
      owner = resource.owner();
    } else if (resource.owner() != owner) {
      throw invalid_argument(op, "resources of one call must live in one place",
                             {{"first", in_quotes(first->name())}, {"other", in_quotes(resource.name())}},
                             "Read the one that lives elsewhere before.");
    }
  }
  return owner;
}

Tensors run_eagerly(const OpDef& op, const Tensors& given, const Attributes& attributes, const RandomState& random) {
  if (ResourceOwner* owner = owner_of(op.name(), given)) return owner->run(op, given, attributes, random);
  Device& device = device_for(op, given);
  check_one_device(op, given, device);
  Tensors inputs = given;
  Specs specs;
  for (Tensor& input : inputs) {
    if (input.is_symbolic()) {
      throw failed_precondition(op.name(), "a symbolic tensor belongs to the trace that made it",
                                {{"input", input.spec()}}, "Return it from the traced function instead of keeping it.");
    }
    input = input.to(device);
    if (op.writes_resources() && input.dtype() == DType::Resource) input.resource()->prepare_write();
    specs.push_back(input.spec());
  }
  const Specs output_specs = op.infer_outputs(specs, attributes);
  const OpCall call(op, attributes, specs);
  for (const VariableClaim& claim : op.claims_of(call)) {
    claim.check(op.name(), *inputs[static_cast<std::size_t>(claim.input)].resource());
  }
  if (op.is_alias()) {
    const bool of_resource = inputs[0].dtype() == DType::Resource;
    if (!of_resource) return {inputs[0].view(output_specs[0].shape)};
    // Where work is recorded a variable that shared its memory would have to move before the next write.
    const Tensor value = inputs[0].resource()->shared_value();
    return {device.can_record() ? value.clone() : value};
  }

  EagerAllocator allocator(output_specs, device);
  bool allocates = op.has_dynamic_outputs();  // the kernel does
  for (std::size_t i = 0; i < output_specs.size(); ++i) {
    const Shape& shape = output_specs[i].shape;
    if (!shape.fully_known()) {
      allocates = true;
    } else if (!op.has_dynamic_outputs()) {
      allocator.allocate(static_cast<int>(i), shape);
    }
  }
  const std::shared_ptr<const KernelFn> kernel = cached_kernel(KernelSpec(call, output_specs, device));
  std::vector<void*> arguments;
  for (const Tensor& input : inputs) arguments.push_back(input.raw());
  for (const Tensor& output : allocator.tensors) arguments.push_back(output.defined() ? output.raw() : nullptr);
  const EagerSubject subject(call, output_specs);
  const KernelCall launch{.kernel = kernel.get(),
                          .arguments = arguments.data(),
                          .inputs = static_cast<int>(inputs.size()),
                          .outputs = static_cast<int>(output_specs.size()),
                          .subject = &subject};
  Tensor own_random;
  const RandomState* readable = &random;
  const bool runs_graph = holds_graph(attributes);
  if (!device.host_readable() && (op.is_random() || runs_graph)) {
    own_random = Tensor::empty(DType::UInt8, {sizeof random}, device);
    device.copy_from_host(own_random.raw(), &random, sizeof random);
    readable = static_cast<const RandomState*>(own_random.raw());
  }
  device.run({&launch, 1}, readable, allocates ? &allocator : nullptr);
  if (op.checks_values() || runs_graph) device.synchronize();
  return allocator.tensors;
}

}  // namespace cohort
