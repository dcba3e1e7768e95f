#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/image.h"
#include "cohort/ops/pixels.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/reduce.h"

// Ops of neural networks and images on symbols: each is the op of the same name on tensors, and becomes a step of the
// functional model that Keras reads as its own operation. Weights may be symbols or tensors, which become part of it.
namespace cohort::ops {

// The op of the same name as a layer.
SymbolicTensor one_hot(const SymbolicTensor& indices, std::int64_t depth, int axis = -1, DType dtype = DType::Float32);
SymbolicTensor multi_hot(const SymbolicTensor& inputs, std::int64_t num_classes, int axis = -1,
                         DType dtype = DType::Float32);
SymbolicTensor max_pool(const SymbolicTensor& inputs, const std::vector<std::int64_t>& pool_size,
                        const PoolOptions& options = {});
SymbolicTensor average_pool(const SymbolicTensor& inputs, const std::vector<std::int64_t>& pool_size,
                            const PoolOptions& options = {});
SymbolicTensor adaptive_max_pool(const SymbolicTensor& inputs, const std::vector<std::int64_t>& output_size,
                                 const std::string& data_format = "channels_last");
SymbolicTensor adaptive_average_pool(const SymbolicTensor& inputs, const std::vector<std::int64_t>& output_size,
                                     const std::string& data_format = "channels_last");
SymbolicTensor conv(const SymbolicTensor& inputs, const SymbolicOperand& kernel, const ConvOptions& options = {});
SymbolicTensor depthwise_conv(const SymbolicTensor& inputs, const SymbolicOperand& kernel,
                              const ConvOptions& options = {});
SymbolicTensor separable_conv(const SymbolicTensor& inputs, const SymbolicOperand& depthwise_kernel,
                              const SymbolicOperand& pointwise_kernel, const ConvOptions& options = {});
SymbolicTensor conv_transpose(const SymbolicTensor& inputs, const SymbolicOperand& kernel,
                              const ConvTransposeOptions& options = {});

// What dot_product_attention takes on symbols besides query, key and value.
struct SymbolicAttentionOptions {
  // Booleans that broadcast to (batch, heads, steps, keys): false leaves a key out. Undefined: none is.
  SymbolicTensor mask = {};
  double scale = 0.0;      // what scores are multiplied with; 0: 1 / sqrt(size of a head)
  bool is_causal = false;  // a step sees no key behind its own position
};
// The op of the same name as a layer.
SymbolicTensor dot_product_attention(const SymbolicTensor& query, const SymbolicTensor& key,
                                     const SymbolicTensor& value, const SymbolicAttentionOptions& options = {});

// The cross-entropy of the same name as a layer.
SymbolicTensor binary_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output,
                                   bool from_logits = false);
SymbolicTensor categorical_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output,
                                        bool from_logits = false, int axis = -1);
SymbolicTensor sparse_categorical_crossentropy(const SymbolicTensor& target, const SymbolicTensor& output,
                                               bool from_logits = false, int axis = -1);
SymbolicTensor ctc_loss(const SymbolicTensor& target, const SymbolicTensor& output, const SymbolicTensor& target_length,
                        const SymbolicTensor& output_length, std::int64_t mask_index = 0);

// The normalization of the same name as a layer; factors may be left out by an undefined tensor.
SymbolicTensor layer_normalization(const SymbolicTensor& x, const SymbolicOperand& gamma = Tensor(),
                                   const SymbolicOperand& beta = Tensor(), const Axes& axis = -1, double epsilon = 1e-7,
                                   bool rms_scaling = false);
SymbolicTensor rms_normalization(const SymbolicTensor& x, const SymbolicOperand& scale = Tensor(),
                                 const Axes& axis = -1, double epsilon = 1e-7);
SymbolicTensor batch_normalization(const SymbolicTensor& x, const SymbolicOperand& mean,
                                   const SymbolicOperand& variance, const Axes& axis,
                                   const SymbolicOperand& offset = Tensor(), const SymbolicOperand& scale = Tensor(),
                                   double epsilon = 1e-3);

// The op on images of the same name as a layer.
SymbolicTensor resize(const SymbolicTensor& images, std::int64_t height, std::int64_t width,
                      const ResizeOptions& options = {});
SymbolicTensor rgb_to_grayscale(const SymbolicTensor& images, const std::string& data_format = "channels_last");
SymbolicTensor extract_patches(const SymbolicTensor& images, const std::vector<std::int64_t>& size,
                               const ExtractPatchesOptions& options = {});
SymbolicTensor depth_to_space(const SymbolicTensor& x, std::int64_t block_size,
                              const std::string& data_format = "channels_last");
SymbolicTensor space_to_depth(const SymbolicTensor& x, std::int64_t block_size,
                              const std::string& data_format = "channels_last");
SymbolicTensor psnr(const SymbolicTensor& x1, const SymbolicTensor& x2, double max_val);

}  // namespace cohort::ops
