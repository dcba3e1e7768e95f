#include "cohort/core/op.h"

#include <algorithm>
#include <map>
#include <memory>

#include "cohort/core/collective.h"
#include "cohort/core/dispatch.h"

namespace cohort {
namespace {

using OpTable = std::map<std::string, std::unique_ptr<OpDef>, std::less<>>;

OpTable& op_table() {
  static OpTable* ops = new OpTable;  // never destroyed: definitions outlive every static graph
  return *ops;
}

}  // namespace

Tensor IndexedSlices::over_replicas(const Tensor& sum) const { return over_replicas(Tensors{sum})[0]; }

Tensors IndexedSlices::over_replicas(const Tensors& sums) const {
  if (!collective.defined()) return sums;
  Tensors inputs{collective};
  inputs.insert(inputs.end(), sums.begin(), sums.end());
  return run_op_all("AllReduce", inputs);
}

bool IndexedSlices::rows_cross() const {
  if (!collective.defined()) return false;
  const auto* met_by = dynamic_cast<const Collective*>(collective.resource().get());
  return met_by && met_by->gathers_rows();
}

Tensor Gradient::dense() const {
  if (!is_slices()) return std::get<Tensor>(value_);
  const IndexedSlices& s = slices();
  if (s.rows_cross()) return run_op("AllReduceRows", {s.collective, s.like, s.indices, s.values});
  return s.over_replicas(run_op("ScatterAddLike", {s.like, s.indices, s.values}));
}

Gradient Gradient::map(const std::function<Tensor(const Tensor&)>& function) const {
  if (!is_slices()) return function(dense());
  return slices().with_values(function(slices().values));
}

const char* OpCall::name() const { return op_->name().c_str(); }

const Attributes& OpCall::defaults() const { return op_->defaults(); }

const TensorSpec& OpCall::spec(int i) const {
  if (i < 0 || i >= num_inputs()) {
    throw invalid_argument(name(), "more inputs are expected", {{"asked", i}, {"inputs", num_inputs()}});
  }
  return specs_[static_cast<std::size_t>(i)];
}

void VariableClaim::check(std::string_view who, const Resource& resource) const {
  const TensorSpec actual = resource.value_spec();
  if (actual == spec) return;
  throw invalid_argument(who, "a variable must have the type and shape that its use was made for",
                         {{"variable", resource.name()}, {"variable.spec", actual}, {"expected", spec}});
}

OpDef& OpDef::inputs(int minimum, int maximum) {
  min_inputs_ = minimum;
  max_inputs_ = maximum == -2 ? minimum : maximum;
  return *this;
}
OpDef& OpDef::infer(InferFn infer) { return infer_ = std::move(infer), *this; }
OpDef& OpDef::gradient_of_all(GradientFn gradient) { return gradient_ = std::move(gradient), *this; }
OpDef& OpDef::not_differentiable() { return differentiable_ = false, *this; }
OpDef& OpDef::random() { return random_ = true, *this; }
OpDef& OpDef::stateful() { return stateful_ = true, *this; }
OpDef& OpDef::reads() { return reads_ = true, *this; }
OpDef& OpDef::writes() { return writes_ = true, *this; }
OpDef& OpDef::claims(ClaimsFn claims) { return claims_ = std::move(claims), *this; }
OpDef& OpDef::checks() { return checks_ = true, *this; }
OpDef& OpDef::dynamic_outputs() { return dynamic_outputs_ = true, *this; }
OpDef& OpDef::alias() { return alias_ = true, *this; }
OpDef& OpDef::elementwise() { return elementwise_ = true, *this; }
OpDef& OpDef::may_overwrite(int input) { return overwritten_ = input, *this; }
OpDef& OpDef::host_only() { return host_only_ = true, *this; }

Specs OpDef::infer_outputs(std::span<const TensorSpec> inputs, const Attributes& attributes) const {
  const int count = static_cast<int>(inputs.size());
  if (count < min_inputs_ || (max_inputs_ >= 0 && count > max_inputs_)) {
    throw invalid_argument(name_, "another number of inputs is expected",
                           {{"inputs", count}, {"minimum", min_inputs_}, {"maximum", max_inputs_}});
  }
  if (!infer_) throw internal_error(name_, "an op must say the shapes of its outputs");
  Specs outputs = infer_(OpCall(*this, attributes, inputs));
  for (const TensorSpec& output : outputs) {
    // Sizes computed later from the shape must not wrap around.
    std::int64_t bytes = static_cast<std::int64_t>(std::max<std::size_t>(size_of(output.dtype), 1));
    for (std::int64_t size : output.shape) {
      if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes)) {
        throw invalid_argument(name_, "an output must fit into memory", {{"output", output}});
      }
    }
  }
  return outputs;
}

Gradients OpDef::gradients(const OpCall& call, std::span<const Tensor> output_gradients) const {
  if (!differentiable_) return Gradients(call.inputs().size());
  if (!gradient_) {
    throw unimplemented(name_, "a gradient is needed but the op defines none", {{"op", name_}},
                        "Use stop_gradient or custom_gradient around it.");
  }
  Gradients gradients = gradient_(call, output_gradients);
  if (gradients.size() != call.inputs().size()) {
    throw internal_error(name_, "a gradient must return one value for each input",
                         {{"returned", gradients.size()}, {"inputs", call.inputs().size()}});
  }
  return gradients;
}

OpDef& register_op(std::string name) {
  auto [entry, added] = op_table().emplace(name, std::make_unique<OpDef>(name));
  if (!added) throw Error(ErrorCode::AlreadyExists, "register_op", "an op is registered once", {{"op", name}});
  return *entry->second;
}

const OpDef& find_op(std::string_view name) {
  auto found = op_table().find(name);
  if (found == op_table().end()) throw not_found("op", "the name of a registered op is expected", {{"op", name}});
  return *found->second;
}

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> ops;
  for (const auto& [name, op] : op_table()) ops.push_back(op.get());
  return ops;
}

}  // namespace cohort
