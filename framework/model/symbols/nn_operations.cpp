#include <cmath>

#include "cohort/losses/binary_crossentropy.h"
#include "cohort/losses/categorical_crossentropy.h"
#include "cohort/losses/sparse_categorical_crossentropy.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/array.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/image.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/reduce.h"

// Keras's operations of neural networks and images: pooling, convolutions, attention, cross-entropies, resizing.
namespace cohort::operations {
namespace {

bool channels_first(const Attributes& config) { return text_of(config, "data_format") == "channels_first"; }

// Calls a function of (batch, ..., channels) whatever the data format.
template <class Function>
Element with_channels_last(const Tensor& x, const Attributes& config, const Function& function) {
  if (!channels_first(config)) return Element(function(x));
  const int channels = x.rank() == 3 && config.has("size") ? 0 : 1;  // an image without a batch
  return Element(ops::moveaxis(function(ops::moveaxis(x, channels, -1)), -1, channels));
}

// One number stands for all axes between batch and channels.
Integers for_all_axes(Integers sizes, const Tensor& x) {
  if (sizes.size() == 1) sizes.resize(static_cast<std::size_t>(x.rank() - 2), sizes[0]);
  return sizes;
}

using Pool = Tensor (*)(const Tensor&, const Integers&, const ops::PoolOptions&);
using AdaptivePool = Tensor (*)(const Tensor&, const Integers&);

void add_pool(const char* name, Pool pool) {
  add_operation("nn", name, {"inputs"}, {"pool_size", "strides", "padding", "data_format"},
                [pool](const Arguments& a, const Attributes& config) {
                  return with_channels_last(a[0].leaf(), config, [&](const Tensor& x) {
                    const Integers size = for_all_axes(integers_of(config, "pool_size"), x);
                    return pool(
                        x, size,
                        {for_all_axes(integers_of(config, "strides", size), x), text_of(config, "padding", "valid")});
                  });
                });
}

void add_adaptive_pool(const char* name, AdaptivePool pool) {
  add_operation("nn", name, {"inputs"}, {"output_size", "data_format"},
                [pool](const Arguments& a, const Attributes& config) {
                  return with_channels_last(a[0].leaf(), config, [&](const Tensor& x) {
                    return pool(x, for_all_axes(integers_of(config, "output_size"), x));
                  });
                });
}

ops::ConvOptions conv_options(const Attributes& config) {
  return {integers_of(config, "strides", {1}), text_of(config, "padding", "valid"),
          text_of(config, "data_format", "channels_last"), integers_of(config, "dilation_rate", {1})};
}

Element transposed_conv(const Arguments& a, const Attributes& config) {
  ops::ConvTransposeOptions options{.strides = integers_of(config, "strides", {1}),
                                    .padding = text_of(config, "padding", "valid"),
                                    .data_format = text_of(config, "data_format", "channels_last"),
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
                                             .scale = number_of(config, "scale"),
                                             .is_causal = truth_of(config, "is_causal")}));
}

Element multi_hot(const Arguments& a, const Attributes& config) {
  const Tensor& x = a[0].leaf();
  const Tensor each =
      ops::one_hot(x, integer_of(config, "num_classes"), static_cast<int>(integer_of(config, "axis", -1)),
                   dtype_from_string(text_of(config, "dtype", "float32")));
  return Element(ops::max(each, x.rank() > 1 ? 1 : 0));
}

Element resized(const Arguments& a, const Attributes& config) {
  if (truth_of(config, "crop_to_aspect_ratio") || truth_of(config, "pad_to_aspect_ratio")) {
    throw unimplemented("Resize", "neither crop_to_aspect_ratio nor pad_to_aspect_ratio is expected");
  }
  const Integers size = integers_of(config, "size");
  const ops::ResizeOptions options{text_of(config, "interpolation", "bilinear"), truth_of(config, "antialias")};
  return with_channels_last(a[0].leaf(), config, [&](const Tensor& x) {
    const bool single = x.rank() == 3;
    const Tensor result = ops::resize(single ? ops::expand_dims(x, 0) : x, size.at(0), size.at(1), options);
    return single ? ops::squeeze(result, {0}) : result;
  });
}

Element grayscale(const Arguments& a, const Attributes& config) {
  return with_channels_last(a[0].leaf(), config, [](const Tensor& x) {
    const Tensor weights = Tensor::of<float>({0.2989f, 0.587f, 0.114f}, {3});
    return ops::sum(x * ops::cast(weights, x.dtype()), -1, /*keep=*/true);
  });
}

// A convolution whose filters each pick one element of the window.
Element patches(const Arguments& a, const Attributes& config) {
  const Tensor& x = a[0].leaf();
  const int axis = channels_first(config) ? x.rank() - 3 : x.rank() - 1;
  const std::int64_t channels = x.shape()[axis];
  Integers size = integers_of(config, "size");
  if (size.size() == 1) size.push_back(size[0]);
  const std::int64_t all = size.at(0) * size.at(1) * channels;
  const Tensor kernel = ops::reshape(ops::eye(all, all, 0, x.dtype()), {size[0], size[1], channels, all});
  const bool single = x.rank() == 3;
  const ops::ConvOptions options{integers_of(config, "strides", size), text_of(config, "padding", "valid"),
                                 text_of(config, "data_format", "channels_last"),
                                 integers_of(config, "dilation_rate", {1})};
  const Tensor result = ops::conv(single ? ops::expand_dims(x, 0) : x, kernel, options);
  return Element(single ? ops::squeeze(result, {0}) : result);
}

// The share of `block` of both spatial axes that lies in the channels, and back.
Element depth_to_space(const Arguments& a, const Attributes& config) {
  return with_channels_last(a[0].leaf(), config, [&](const Tensor& x) {
    const std::int64_t block = integer_of(config, "block_size"), height = x.shape()[1], width = x.shape()[2];
    const std::int64_t channels = x.shape()[3] / (block * block);
    const Tensor split = ops::reshape(x, {-1, height, width, block, block, channels});
    return ops::reshape(ops::transpose(split, {0, 1, 3, 2, 4, 5}), {-1, height * block, width * block, channels});
  });
}
Element space_to_depth(const Arguments& a, const Attributes& config) {
  return with_channels_last(a[0].leaf(), config, [&](const Tensor& x) {
    const std::int64_t block = integer_of(config, "block_size"), channels = x.shape()[3];
    const std::int64_t height = x.shape()[1] / block, width = x.shape()[2] / block;
    const Tensor split = ops::reshape(x, {-1, height, block, width, block, channels});
    return ops::reshape(ops::transpose(split, {0, 1, 3, 2, 4, 5}), {-1, height, width, channels * block * block});
  });
}

[[maybe_unused]] const bool neural_registered = [] {
  add_pool("MaxPool", ops::max_pool);
  add_pool("AveragePool", ops::average_pool);
  add_adaptive_pool("AdaptiveMaxPool", ops::adaptive_max_pool);
  add_adaptive_pool("AdaptiveAveragePool", ops::adaptive_average_pool);
  const std::vector<std::string> conv_fields = {"strides", "padding", "data_format", "dilation_rate"};
  add_operation("nn", "Conv", {"inputs", "kernel"}, conv_fields, [](const Arguments& a, const Attributes& config) {
    return Element(ops::conv(a[0].leaf(), a[1].leaf(), conv_options(config)));
  });
  add_operation("nn", "DepthwiseConv", {"inputs", "kernel"}, conv_fields,
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::depthwise_conv(a[0].leaf(), a[1].leaf(), conv_options(config)));
                });
  add_operation("nn", "SeparableConv", {"inputs", "depthwise_kernel", "pointwise_kernel"}, conv_fields,
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::separable_conv(a[0].leaf(), a[1].leaf(), a[2].leaf(), conv_options(config)));
                });
  add_operation("nn", "ConvTranspose", {"inputs", "kernel"},
                {"strides", "padding", "output_padding", "data_format", "dilation_rate"}, transposed_conv);
  add_operation("nn", "DotProductAttention", {"query", "key", "value", "bias", "mask", "scale"},
                {"is_causal", "flash_attention", "attn_logits_soft_cap"}, attention);
  add_operation("nn", "MultiHot", {"inputs"}, {"num_classes", "axis", "dtype", "sparse"}, multi_hot);
  add_operation(
      "nn", "BinaryCrossentropy", {"target", "output"}, {"from_logits"},
      [](const Arguments& a, const Attributes& config) {
        // Element by element: a mean over an axis of one.
        return Element(losses::binary_crossentropy(ops::expand_dims(a[0].leaf(), -1), ops::expand_dims(a[1].leaf(), -1),
                                                   truth_of(config, "from_logits")));
      });
  add_operation(
      "nn", "CategoricalCrossentropy", {"target", "output"}, {"from_logits", "axis"},
      [](const Arguments& a, const Attributes& config) {
        return Element(losses::categorical_crossentropy(a[0].leaf(), a[1].leaf(), truth_of(config, "from_logits"), 0.0,
                                                        static_cast<int>(integer_of(config, "axis", -1))));
      });
  add_operation("nn", "SparseCategoricalCrossentropy", {"target", "output"}, {"from_logits", "axis"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(losses::sparse_categorical_crossentropy(
                      a[0].leaf(), a[1].leaf(), truth_of(config, "from_logits"), std::nullopt,
                      static_cast<int>(integer_of(config, "axis", -1))));
                });
  add_operation("nn", "PSNR", {"x1", "x2"}, {"max_val"}, [](const Arguments& a, const Attributes& config) {
    const Tensor error = ops::mean(ops::square(a[0].leaf() - a[1].leaf()));
    return Element(20.0 * std::log10(number_of(config, "max_val")) - 10.0 * ops::log10(error));
  });
  add_operation("nn", "DepthToSpace", {"x"}, {"block_size", "data_format"}, depth_to_space);
  add_operation("nn", "SpaceToDepth", {"x"}, {"block_size", "data_format"}, space_to_depth);
  add_operation("image", "Resize", {"images"},
                {"size", "interpolation", "antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_mode",
                 "fill_value", "data_format"},
                resized);
  add_operation("image", "RGBToGrayscale", {"images"}, {"data_format"}, grayscale);
  add_operation("image", "ExtractPatches", {"images"}, {"size", "strides", "dilation_rate", "padding", "data_format"},
                patches);
  return true;
}();

}  // namespace
}  // namespace cohort::operations
