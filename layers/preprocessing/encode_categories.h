#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// Category numbers in one of Keras's output modes: "int" as they are; "one_hot" along a new last axis, in place of one
// of size 1; "multi_hot" and "count" over the last axis (from three axes on, as in Keras, over axis 1), which becomes
// `depth`. The result has this type.
Tensor encode_categories(const Tensor& categories, const std::string& output_mode, std::int64_t depth, DType dtype,
                         const Tensor& count_weights = {});

// Throws unless the mode is one of those or, with `tf_idf`, "tf_idf"; Keras's older spellings are brought up to date.
void check_output_mode(const Layer& layer, std::string& output_mode, bool with_int, bool with_tf_idf);

// Sparse tensors are not supported.
void refuse_sparse(const Layer& layer, bool sparse);

}  // namespace cohort::layers
