#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/reduce.h"

// Ops along axes and products, on symbols: each is the op of the same name on tensors, and becomes a step of the
// functional model that Keras reads as its own operation. Axes count the batch; none given means all, the batch
// included.
namespace cohort::ops {

// The reduction of the same name as a layer; `keep` leaves an axis of size 1.
SymbolicTensor sum(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor mean(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor prod(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor max(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor min(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor any(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor all(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor logsumexp(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor variance(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor standard_deviation(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor amax(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor amin(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor var(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor std(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor ptp(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor median(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor nansum(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor nanprod(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor nanmean(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor nanmax(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor nanmin(const SymbolicTensor& x, const Axes& axis = {}, bool keepdims = false);
SymbolicTensor average(const SymbolicTensor& x, const Axes& axis = {}, const Tensor& weights = {});
SymbolicTensor average(const SymbolicTensor& x, const Axes& axis, const SymbolicTensor& weights);
SymbolicTensor count_nonzero(const SymbolicTensor& x, const Axes& axis = {});
SymbolicTensor argmax(const SymbolicTensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);
SymbolicTensor argmin(const SymbolicTensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);
SymbolicTensor normalize(const SymbolicTensor& x, const Axes& axis = -1, int order = 2, double epsilon = 1e-7);

// Mean and variance of symbols.
struct SymbolicMoments {
  SymbolicTensor mean, variance;
};
// Mean and variance over the axes, as a layer.
SymbolicMoments moments(const SymbolicTensor& x, const Axes& axes, bool keepdims = false);
// The k largest values and their places along the last axis.
struct SymbolicTopK {
  SymbolicTensor values, indices;
};
// The k largest along the last axis, as a layer.
SymbolicTopK top_k(const SymbolicTensor& x, std::int64_t k, bool sorted = true);

// The op of the same name as a layer.
SymbolicTensor cumsum(const SymbolicTensor& x, std::optional<int> axis = std::nullopt);
SymbolicTensor cumprod(const SymbolicTensor& x, std::optional<int> axis = std::nullopt);
SymbolicTensor diff(const SymbolicTensor& a, int n = 1, int axis = -1);
SymbolicTensor sort(const SymbolicTensor& x, int axis = -1);
SymbolicTensor argsort(const SymbolicTensor& x, int axis = -1);

#define COHORT_SYMBOLIC_PRODUCT(name)                                       \
  SymbolicTensor name(const SymbolicTensor& x1, const SymbolicTensor& x2);  \
  SymbolicTensor name(const SymbolicTensor& x1, const SymbolicOperand& x2); \
  SymbolicTensor name(const SymbolicOperand& x1, const SymbolicTensor& x2)
// The product of the same name as a layer.
COHORT_SYMBOLIC_PRODUCT(matmul);
COHORT_SYMBOLIC_PRODUCT(dot);
COHORT_SYMBOLIC_PRODUCT(inner);
COHORT_SYMBOLIC_PRODUCT(outer);
COHORT_SYMBOLIC_PRODUCT(vdot);
#undef COHORT_SYMBOLIC_PRODUCT
SymbolicTensor einsum(std::string_view equation, const std::vector<SymbolicTensor>& operands);
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicTensor& x2, int axes = 2);
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicOperand& x2, const std::vector<std::int64_t>& axes1,
                         const std::vector<std::int64_t>& axes2);

}  // namespace cohort::ops
