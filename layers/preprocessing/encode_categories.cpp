#include "cohort/layers/preprocessing/encode_categories.h"

#include "cohort/core/text.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/categories.h"
#include "cohort/ops/indexing.h"

namespace cohort::layers {

Tensor encode_categories(const Tensor& given, const std::string& output_mode, std::int64_t depth, DType dtype,
                         const Tensor& count_weights) {
  if (output_mode == "int") return ops::cast(given, dtype);
  Tensor categories = given.dtype() == DType::Int32 ? given : ops::cast(given, DType::Int64);
  if (categories.rank() == 0) categories = ops::expand_dims(categories, -1);
  if (output_mode == "one_hot") {
    if (categories.rank() > 1 && categories.shape().back() == 1) categories = ops::squeeze(categories, {-1});
    return ops::one_hot(categories, depth, -1, dtype);
  }
  Tensor weights = count_weights;
  if (categories.rank() > 2) {
    categories = ops::moveaxis(categories, 1, -1);
    if (weights.defined()) weights = ops::moveaxis(weights, 1, -1);
  }
  return ops::count_categories(categories, depth, output_mode == "multi_hot", dtype, weights);
}

void check_output_mode(const Layer& layer, std::string& output_mode, bool with_int, bool with_tf_idf) {
  if (output_mode == "binary") output_mode = "multi_hot";
  if (with_tf_idf && output_mode == "tf-idf") output_mode = "tf_idf";
  if (output_mode == "one_hot" || output_mode == "multi_hot" || output_mode == "count") return;
  if ((with_int && output_mode == "int") || (with_tf_idf && output_mode == "tf_idf")) return;
  throw invalid_argument(layer.class_name(),
                         std::string("output_mode must be ") + (with_int ? "'int', " : "") + "'one_hot', 'multi_hot'" +
                             (with_tf_idf ? ", 'count' or 'tf_idf'" : " or 'count'"),
                         {{"output_mode", in_quotes(output_mode)}});
}

void refuse_sparse(const Layer& layer, bool sparse) {
  if (!sparse) return;
  throw unimplemented(layer.class_name(), "sparse tensors are not supported", {{"sparse", true}}, "Leave sparse out.");
}

}  // namespace cohort::layers
