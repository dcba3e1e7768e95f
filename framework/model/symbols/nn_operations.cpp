#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_nn.h"
#include "cohort/ops/array.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/crossentropy.h"
#include "cohort/ops/ctc.h"
#include "cohort/ops/image.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/pooling.h"

// Keras's operations of neural networks and images: pooling, convolutions, attention, cross-entropies, resizing.
namespace cohort {
namespace {

using operations::add_operation;
using operations::Arguments;
using operations::axis_of;
using operations::bool_of;
using operations::integer_of;
using operations::Integers;
using operations::integers_of;
using operations::optional_tensor;
using operations::text_of;

std::string data_format_of(const Attributes& config) { return text_of(config, "data_format", "channels_last"); }

using Pool = Tensor (*)(const Tensor&, const Integers&, const ops::PoolOptions&);
using AdaptivePool = Tensor (*)(const Tensor&, const Integers&, const std::string&);
using Blocks = Tensor (*)(const Tensor&, std::int64_t, const std::string&);

void add_pool(const char* name, Pool pool) {
  add_operation("nn", name, {"inputs"}, {"pool_size", "strides", "padding", "data_format"},
                [pool](const Arguments& a, const Attributes& config) {
                  return Element(pool(
                      a[0].leaf(), integers_of(config, "pool_size"),
                      {integers_of(config, "strides"), text_of(config, "padding", "valid"), data_format_of(config)}));
                });
}

void add_adaptive_pool(const char* name, AdaptivePool pool) {
  add_operation("nn", name, {"inputs"}, {"output_size", "data_format"},
                [pool](const Arguments& a, const Attributes& config) {
                  return Element(pool(a[0].leaf(), integers_of(config, "output_size"), data_format_of(config)));
                });
}

void add_blocks(const char* name, Blocks blocks) {
  add_operation("nn", name, {"x"}, {"block_size", "data_format"},
                [blocks](const Arguments& a, const Attributes& config) {
                  return Element(blocks(a[0].leaf(), integer_of(config, "block_size"), data_format_of(config)));
                });
}

ops::ConvOptions conv_options(const Attributes& config) {
  return {integers_of(config, "strides", {1}), text_of(config, "padding", "valid"), data_format_of(config),
          integers_of(config, "dilation_rate", {1})};
}

Element transposed_conv(const Arguments& a, const Attributes& config) {
  ops::ConvTransposeOptions options{.strides = integers_of(config, "strides", {1}),
                                    .padding = text_of(config, "padding", "valid"),
                                    .data_format = data_format_of(config),
                                    .dilation_rate = integers_of(config, "dilation_rate", {1})};
  if (config.has("output_padding")) options.output_padding = integers_of(config, "output_padding");
  return Element(ops::conv_transpose(a[0].leaf(), a[1].leaf(), options));
}

Element attention(const Arguments& a, const Attributes& config) {
  if (!a[3].empty() || config.has("attn_logits_soft_cap")) {
    throw unimplemented("DotProductAttention", "neither bias nor attn_logits_soft_cap is expected");
  }
  return Element(ops::dot_product_attention(a[0].leaf(), a[1].leaf(), a[2].leaf(),
                                            {.mask = optional_tensor(a[4]),
                                             .scale = operations::number_of(config, "scale"),
                                             .is_causal = bool_of(config, "is_causal")}));
}

Element resized(const Arguments& a, const Attributes& config) {
  if (bool_of(config, "crop_to_aspect_ratio") || bool_of(config, "pad_to_aspect_ratio")) {
    throw unimplemented("Resize", "neither crop_to_aspect_ratio nor pad_to_aspect_ratio is expected");
  }
  const Integers size = integers_of(config, "size");
  if (size.size() != 2) throw invalid_argument("Resize", "size must be (height, width)", {{"size", Shape(size)}});
  return Element(
      ops::with_images_channels_last("Resize", a[0].leaf(), data_format_of(config), [&](const Tensor& images) {
        return ops::resize(images, size[0], size[1],
                           {text_of(config, "interpolation", "bilinear"), bool_of(config, "antialias")});
      }));
}

const std::vector<std::string> kConvFields = {"strides", "padding", "data_format", "dilation_rate"};

void add_convolutions() {
  add_operation("nn", "Conv", {"inputs", "kernel"}, kConvFields, [](const Arguments& a, const Attributes& config) {
    return Element(ops::conv(a[0].leaf(), a[1].leaf(), conv_options(config)));
  });
  add_operation("nn", "DepthwiseConv", {"inputs", "kernel"}, kConvFields,
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::depthwise_conv(a[0].leaf(), a[1].leaf(), conv_options(config)));
                });
  add_operation("nn", "SeparableConv", {"inputs", "depthwise_kernel", "pointwise_kernel"}, kConvFields,
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::separable_conv(a[0].leaf(), a[1].leaf(), a[2].leaf(), conv_options(config)));
                });
  add_operation("nn", "ConvTranspose", {"inputs", "kernel"},
                {"strides", "padding", "output_padding", "data_format", "dilation_rate"}, transposed_conv);
}

void add_crossentropies() {
  add_operation("nn", "BinaryCrossentropy", {"target", "output"}, {"from_logits"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::binary_crossentropy(a[0].leaf(), a[1].leaf(), bool_of(config, "from_logits")));
                });
  add_operation("nn", "CategoricalCrossentropy", {"target", "output"}, {"from_logits", "axis"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::categorical_crossentropy(a[0].leaf(), a[1].leaf(), bool_of(config, "from_logits"),
                                                               axis_of(config).value_or(-1)));
                });
  add_operation("nn", "SparseCategoricalCrossentropy", {"target", "output"}, {"from_logits", "axis"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::sparse_categorical_crossentropy(
                      a[0].leaf(), a[1].leaf(), bool_of(config, "from_logits"), axis_of(config).value_or(-1)));
                });
  add_operation("nn", "CTCLoss", {"target", "output", "target_length", "output_length"}, {"mask_index"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::ctc_loss(a[0].leaf(), a[1].leaf(), a[2].leaf(), a[3].leaf(),
                                               integer_of(config, "mask_index")));
                });
}

void add_images() {
  add_operation("nn", "PSNR", {"x1", "x2"}, {"max_val"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::psnr(a[0].leaf(), a[1].leaf(), operations::number_of(config, "max_val")));
  });
  add_blocks("DepthToSpace", ops::depth_to_space);
  add_blocks("SpaceToDepth", ops::space_to_depth);
  add_operation("image", "Resize", {"images"},
                {"size", "interpolation", "antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_mode",
                 "fill_value", "data_format"},
                resized);
  add_operation("image", "RGBToGrayscale", {"images"}, {"data_format"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::rgb_to_grayscale(a[0].leaf(), data_format_of(config)));
                });
  add_operation(
      "image", "ExtractPatches", {"images"}, {"size", "strides", "dilation_rate", "padding", "data_format"},
      [](const Arguments& a, const Attributes& config) {
        return Element(ops::extract_patches(a[0].leaf(), integers_of(config, "size"),
                                            {integers_of(config, "strides"), integers_of(config, "dilation_rate", {1}),
                                             text_of(config, "padding", "valid"), data_format_of(config)}));
      });
}

[[maybe_unused]] const bool neural_registered = [] {
  add_pool("MaxPool", ops::max_pool);
  add_pool("AveragePool", ops::average_pool);
  add_adaptive_pool("AdaptiveMaxPool", ops::adaptive_max_pool);
  add_adaptive_pool("AdaptiveAveragePool", ops::adaptive_average_pool);
  add_convolutions();
  add_crossentropies();
  add_images();
  add_operation("nn", "DotProductAttention", {"query", "key", "value", "bias", "mask", "scale"},
                {"is_causal", "flash_attention", "attn_logits_soft_cap"}, attention);
  add_operation(
      "nn", "OneHot", {"x"}, {"num_classes", "axis", "dtype", "sparse"},
      [](const Arguments& a, const Attributes& config) {
        return Element(ops::one_hot(a[0].leaf(), integer_of(config, "num_classes"), axis_of(config).value_or(-1),
                                    operations::dtype_of(config, DType::Float32)));
      });
  add_operation(
      "nn", "MultiHot", {"inputs"}, {"num_classes", "axis", "dtype", "sparse"},
      [](const Arguments& a, const Attributes& config) {
        return Element(ops::multi_hot(a[0].leaf(), integer_of(config, "num_classes"), axis_of(config).value_or(-1),
                                      operations::dtype_of(config, DType::Float32)));
      });
  return true;
}();

// Keras writes one number where all axes have it.
Attributes with_sizes(Attributes config, const char* name, const Integers& sizes) {
  return operations::with_axes(std::move(config), sizes, name);
}

template <class Options>
Attributes conv_config(const Options& options) {
  const Attributes config{{"padding", options.padding}, {"data_format", options.data_format}};
  return with_sizes(with_sizes(config, "strides", options.strides), "dilation_rate", options.dilation_rate);
}

}  // namespace

namespace ops {

using operations::argument_of;
using operations::call_one;

SymbolicTensor one_hot(const SymbolicTensor& indices, std::int64_t depth, int axis, DType dtype) {
  return call_one(
      "nn>OneHot", {indices},
      {{"num_classes", depth}, {"axis", axis}, {"dtype", std::string(to_string(dtype))}, {"sparse", false}});
}
SymbolicTensor multi_hot(const SymbolicTensor& inputs, std::int64_t num_classes, int axis, DType dtype) {
  return call_one(
      "nn>MultiHot", {inputs},
      {{"num_classes", num_classes}, {"axis", axis}, {"dtype", std::string(to_string(dtype))}, {"sparse", false}});
}

#define COHORT_ROW(function, keras)                                                                              \
  SymbolicTensor function(const SymbolicTensor& inputs, const Integers& pool_size, const PoolOptions& options) { \
    const Attributes config{{"padding", options.padding}, {"data_format", options.data_format}};                 \
    return call_one("nn>" #keras, {inputs},                                                                      \
                    with_sizes(with_sizes(config, "pool_size", pool_size), "strides", options.strides));         \
  }
COHORT_ROW(max_pool, MaxPool)
COHORT_ROW(average_pool, AveragePool)
#undef COHORT_ROW
#define COHORT_ROW(function, keras)                                                                              \
  SymbolicTensor function(const SymbolicTensor& inputs, const Integers& sizes, const std::string& data_format) { \
    return call_one("nn>" #keras, {inputs}, with_sizes({{"data_format", data_format}}, "output_size", sizes));   \
  }
COHORT_ROW(adaptive_max_pool, AdaptiveMaxPool)
COHORT_ROW(adaptive_average_pool, AdaptiveAveragePool)
#undef COHORT_ROW

SymbolicTensor conv(const SymbolicTensor& inputs, const SymbolicOperand& kernel, const ConvOptions& options) {
  return call_one("nn>Conv", {inputs, argument_of(kernel)}, conv_config(options));
}
SymbolicTensor depthwise_conv(const SymbolicTensor& inputs, const SymbolicOperand& kernel, const ConvOptions& options) {
  return call_one("nn>DepthwiseConv", {inputs, argument_of(kernel)}, conv_config(options));
}
SymbolicTensor separable_conv(const SymbolicTensor& inputs, const SymbolicOperand& depthwise_kernel,
                              const SymbolicOperand& pointwise_kernel, const ConvOptions& options) {
  return call_one("nn>SeparableConv", {inputs, argument_of(depthwise_kernel), argument_of(pointwise_kernel)},
                  conv_config(options));
}
SymbolicTensor conv_transpose(const SymbolicTensor& inputs, const SymbolicOperand& kernel,
                              const ConvTransposeOptions& options) {
  Attributes config = conv_config(options);
  if (options.output_padding) config = with_sizes(std::move(config), "output_padding", *options.output_padding);
  return call_one("nn>ConvTranspose", {inputs, argument_of(kernel)}, config);
}

SymbolicTensor dot_product_attention(const SymbolicTensor& query, const SymbolicTensor& key,
                                     const SymbolicTensor& value, const SymbolicAttentionOptions& options) {
  std::vector<OperationArgument> arguments = {query, key, value, std::monostate(), std::monostate(), std::monostate()};
  if (options.mask.defined()) arguments[4] = options.mask;
  if (options.scale != 0.0) arguments[5] = options.scale;
  return call_one("nn>DotProductAttention", arguments, {{"is_causal", options.is_causal}});
}

SymbolicTensor binary_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output, bool from_logits) {
  return call_one("nn>BinaryCrossentropy", {target, output}, {{"from_logits", from_logits}});
}
SymbolicTensor categorical_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output, bool from_logits,
                                        int axis) {
  return call_one("nn>CategoricalCrossentropy", {target, output}, {{"from_logits", from_logits}, {"axis", axis}});
}
SymbolicTensor sparse_categorical_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output,
                                               bool from_logits, int axis) {
  return call_one("nn>SparseCategoricalCrossentropy", {target, output}, {{"from_logits", from_logits}, {"axis", axis}});
}
SymbolicTensor ctc_loss(const SymbolicTensor& target, const SymbolicTensor& output, const SymbolicTensor& target_length,
                        const SymbolicTensor& output_length, std::int64_t mask_index) {
  return call_one("nn>CTCLoss", {target, output, target_length, output_length}, {{"mask_index", mask_index}});
}

SymbolicTensor resize(const SymbolicTensor& images, std::int64_t height, std::int64_t width,
                      const ResizeOptions& options) {
  return call_one("image>Resize", {images},
                  {{"size", Integers{height, width}},
                   {"interpolation", options.interpolation},
                   {"antialias", options.antialias},
                   {"crop_to_aspect_ratio", false},
                   {"pad_to_aspect_ratio", false},
                   {"fill_mode", "constant"},
                   {"fill_value", 0.0},
                   {"data_format", "channels_last"}});
}
SymbolicTensor rgb_to_grayscale(const SymbolicTensor& images, const std::string& data_format) {
  return call_one("image>RGBToGrayscale", {images}, {{"data_format", data_format}});
}
SymbolicTensor extract_patches(const SymbolicTensor& images, const Integers& size,
                               const ExtractPatchesOptions& options) {
  Attributes config{{"padding", options.padding}, {"data_format", options.data_format}};
  config = with_sizes(with_sizes(std::move(config), "size", size), "dilation_rate", options.dilation_rate);
  return call_one("image>ExtractPatches", {images},
                  with_sizes(std::move(config), "strides", options.strides.empty() ? size : options.strides));
}
SymbolicTensor depth_to_space(const SymbolicTensor& x, std::int64_t block_size, const std::string& data_format) {
  return call_one("nn>DepthToSpace", {x}, {{"block_size", block_size}, {"data_format", data_format}});
}
SymbolicTensor space_to_depth(const SymbolicTensor& x, std::int64_t block_size, const std::string& data_format) {
  return call_one("nn>SpaceToDepth", {x}, {{"block_size", block_size}, {"data_format", data_format}});
}
SymbolicTensor psnr(const SymbolicTensor& x1, const SymbolicTensor& x2, double max_val) {
  return call_one("nn>PSNR", {x1, x2}, {{"max_val", max_val}});
}

}  // namespace ops
}  // namespace cohort
