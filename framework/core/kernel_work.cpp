#include "cohort/core/kernel_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "cohort/core/device_memory.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

double elements(const Shape& shape) { return static_cast<double>(shape.num_elements()); }

double product_operations(const OpCall& call, std::span<const TensorSpec> outputs) {
  const Shape& a = call.shape(0);
  return 2 * elements(outputs[0].shape) * static_cast<double>(a.dim(call.attr<bool>("transpose_a") ? -2 : -1));
}

// `image` is on the side of the filters, and each of its elements meets one filter.
double convolution_operations(const Shape& image, const Shape& kernel) {
  return 2 * elements(image) * elements(kernel) / static_cast<double>(std::max<std::int64_t>(kernel.back(), 1));
}

// Pairs of a step and a key it looks at, for all heads: behind a causal mask the keys up to the step's own.
double attended_pairs(const OpCall& call) {
  const Shape &query = call.shape(0), &key = call.shape(1);
  const std::int64_t steps = query[1], keys = key[1];
  auto pairs = static_cast<double>(steps * keys);
  if (call.attr<bool>("is_causal")) {
    const std::int64_t growing = std::min(steps, keys);
    pairs = static_cast<double>(growing * (growing + 1) / 2 + (steps - growing) * keys);
  }
  return pairs * static_cast<double>(query[0] * query[2]);
}

// The weights and the sum of values; on the way back the weights again and four products more.
double attention_operations(const OpCall& call, int of_size, int of_value_size) {
  return 2 * attended_pairs(call) * static_cast<double>(of_size * call.shape(0)[3] + of_value_size * call.shape(2)[3]);
}

using Operations = double (*)(const OpCall& call, std::span<const TensorSpec> outputs);

// Ops that arithmetic may hold up. All others wait for memory.
const std::map<std::string_view, Operations>& counted_ops() {
  static const std::map<std::string_view, Operations> kCounted = {
      {"MatMul", product_operations},
      {"FusedMatMul", product_operations},
      {"MatMulBiasGrad", product_operations},
      {"MaskedMatMul", product_operations},
      {"MatMulReluGrad", product_operations},
      {"Conv",
       [](const OpCall& call, auto outputs) { return convolution_operations(outputs[0].shape, call.shape(1)); }},
      {"FusedConv",
       [](const OpCall& call, auto outputs) { return convolution_operations(outputs[0].shape, call.shape(1)); }},
      {"ConvTranspose", [](const OpCall& call, auto) { return convolution_operations(call.shape(0), call.shape(1)); }},
      {"ConvGradInput", [](const OpCall& call, auto) { return convolution_operations(call.shape(0), call.shape(1)); }},
      {"ConvGradKernel", [](const OpCall& call, auto) { return convolution_operations(call.shape(1), call.shape(2)); }},
      {"ConvBiasGrad", [](const OpCall& call, auto) { return convolution_operations(call.shape(1), call.shape(2)); }},
      {"ConvReluMaxPool",  // four pixels are computed for each that comes out
       [](const OpCall& call, auto outputs) { return 4 * convolution_operations(outputs[0].shape, call.shape(1)); }},
      {"ConvReluMaxPoolGrad",
       [](const OpCall& call, auto) { return convolution_operations(call.shape(1), call.shape(3)); }},
      {"DotProductAttention", [](const OpCall& call, auto) { return attention_operations(call, 1, 1); }},
      {"DotProductAttentionGrad", [](const OpCall& call, auto) { return attention_operations(call, 3, 2); }},
  };
  return kCounted;
}

double bytes_of(const TensorSpec& spec) {
  if (!is_plain(spec.dtype) || !spec.shape.fully_known()) return 0;
  return elements(spec.shape) * static_cast<double>(size_of(spec.dtype));
}

// How many bytes of input i are looked at, of which an op may need a part only, or nothing but the shape.
double bytes_read(const OpCall& call, int i, const TensorSpec& spec, std::span<const TensorSpec> outputs) {
  static const std::set<std::string_view> kTakesParts = {"Gather", "GatherNd", "Slice", "StridedSlice",
                                                         "TakeAlongAxis"};
  if (looks_at_shape_only(call.op(), i)) return 0;
  const double all = bytes_of(spec);
  return i == 0 && kTakesParts.contains(call.name()) ? std::min(all, bytes_of(outputs[0])) : all;
}

// An update of a whole model has hundreds: the first ones tell it from others.
std::string first_of(std::span<const TensorSpec> specs) {
  constexpr std::size_t kShown = 4;
  std::string text = join(specs.first(std::min(specs.size(), kShown)), &TensorSpec::to_string);
  if (specs.size() > kShown) text += ", ... " + std::to_string(specs.size()) + " in all";
  return text;
}

// What products are made of: an operand of 16 bits says that they are computed so.
DType operand_type(const OpCall& call) {
  DType found = call.num_inputs() > 0 ? call.dtype(0) : DType::Float32;
  for (int i = 0; i < std::min(call.num_inputs(), 2); ++i) {
    if (is_floating(call.dtype(i)) && size_of(call.dtype(i)) == 2) found = call.dtype(i);
  }
  return found;
}

}  // namespace

bool looks_at_shape_only(const OpDef& op, int input) {
  static const std::map<std::string_view, int> kLike = {
      {"ConvGradInput", 2}, {"ConvGradKernel", 2},  {"ConvBiasGrad", 2},  {"ConvReluMaxPoolGrad", 3},
      {"MaxPoolGrad", 2},   {"AveragePoolGrad", 1}, {"BroadcastLike", 1}, {"SumToLike", 1}};
  const auto like = kLike.find(op.name());
  return like != kLike.end() && like->second == input;
}

KernelWork work_of(const OpCall& call, std::span<const TensorSpec> outputs) {
  Specs inputs;
  for (int i = 0; i < call.num_inputs(); ++i) inputs.push_back(call.spec(i));
  KernelWork work{.op = call.name(), .operands = operand_type(call)};
  // A variable is read, and where the op changes it written as well.
  for (const VariableClaim& claim : call.op().claims_of(call)) {
    inputs[static_cast<std::size_t>(claim.input)] = claim.spec;
    if (call.op().writes_resources()) work.bytes += bytes_of(claim.spec);
  }
  work.shapes = first_of(inputs) + " -> " + first_of(outputs);
  for (int i = 0; i < call.num_inputs(); ++i) {
    work.bytes += bytes_read(call, i, inputs[static_cast<std::size_t>(i)], outputs);
  }
  for (const TensorSpec& spec : outputs) work.bytes += bytes_of(spec);
  const auto counted = counted_ops().find(work.op);
  if (counted != counted_ops().end()) work.operations = counted->second(call, outputs);
  return work;
}

Timeline::Span kernel_span(const KernelCall& call) {
  Timeline::Span span{.category = "kernel"};
  if (call.subject) span.work = std::make_shared<const KernelWork>(call.subject->work());
  span.name = call.node && !call.node->empty() ? *call.node : span.work ? span.work->op : "kernel";
  return span;
}

Timeline::Span copy_span(std::size_t bytes) {
  return {.category = "copy",
          .name = "copy",
          .work = std::make_shared<const KernelWork>(KernelWork{.op = "copy", .bytes = static_cast<double>(bytes)})};
}

void count_memory(Device& device, TimelineLane& lane) {
  const std::size_t bytes = device_memory(device).current;
  if (bytes == 0) return;
  lane.add(Timeline::Count{device.name() + " memory", Timeline::Clock::now(), static_cast<double>(bytes)});
}

}  // namespace cohort
