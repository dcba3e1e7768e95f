#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/slicing.h"

// Ops that move, join, cut and pick elements, on symbols: each is the op of the same name on tensors, and becomes a
// step of the functional model that Keras reads as its own operation. Shapes and axes have the batch as axis 0.
namespace cohort::ops {

// The op of the same name as a layer.
SymbolicTensor reshape(const SymbolicTensor& x, const std::vector<std::int64_t>& shape);
SymbolicTensor ravel(const SymbolicTensor& x);
SymbolicTensor expand_dims(const SymbolicTensor& x, int axis);
SymbolicTensor expand_dims(const SymbolicTensor& x, const std::vector<std::int64_t>& axes);
SymbolicTensor squeeze(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor transpose(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor swapaxes(const SymbolicTensor& x, int axis1, int axis2);
SymbolicTensor moveaxis(const SymbolicTensor& x, int source, int destination);
SymbolicTensor moveaxis(const SymbolicTensor& x, const std::vector<std::int64_t>& source,
                        const std::vector<std::int64_t>& destination);
SymbolicTensor broadcast_to(const SymbolicTensor& x, const std::vector<std::int64_t>& shape);
SymbolicTensor zeros_like(const SymbolicTensor& x);
SymbolicTensor ones_like(const SymbolicTensor& x);
SymbolicTensor full_like(const SymbolicTensor& x, const SymbolicOperand& value);

// Ops that join and cut, as layers.
SymbolicTensor concatenate(const std::vector<SymbolicTensor>& xs, int axis = 0);
SymbolicTensor stack(const std::vector<SymbolicTensor>& tensors, int axis = 0);
std::vector<SymbolicTensor> unstack(const SymbolicTensor& x, std::optional<std::int64_t> num = std::nullopt,
                                    int axis = 0);
SymbolicTensor append(const SymbolicTensor& x1, const SymbolicTensor& x2, std::optional<int> axis = std::nullopt);
SymbolicTensor hstack(const std::vector<SymbolicTensor>& xs);
SymbolicTensor vstack(const std::vector<SymbolicTensor>& xs);
SymbolicTensor dstack(const std::vector<SymbolicTensor>& xs);
std::vector<SymbolicTensor> split(const SymbolicTensor& x, const IndicesOrSections& indices_or_sections, int axis = 0);
std::vector<SymbolicTensor> split_sizes(const SymbolicTensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
std::vector<SymbolicTensor> array_split(const SymbolicTensor& x, const IndicesOrSections& indices_or_sections,
                                        int axis = 0);
std::vector<SymbolicTensor> vsplit(const SymbolicTensor& x, const IndicesOrSections& indices_or_sections);
std::vector<SymbolicTensor> hsplit(const SymbolicTensor& x, const IndicesOrSections& indices_or_sections);
std::vector<SymbolicTensor> dsplit(const SymbolicTensor& x, const IndicesOrSections& indices_or_sections);
SymbolicTensor tile(const SymbolicTensor& x, const std::vector<std::int64_t>& multiples);
SymbolicTensor repeat(const SymbolicTensor& x, int repeats, std::optional<int> axis = std::nullopt);
SymbolicTensor pad(const SymbolicTensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings,
                   const std::string& mode = "constant", double constant_value = 0);

// Ops that turn and pick, as layers.
SymbolicTensor flip(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor fliplr(const SymbolicTensor& x);
SymbolicTensor flipud(const SymbolicTensor& x);
SymbolicTensor rot90(const SymbolicTensor& array, int k = 1, std::pair<int, int> axes = {0, 1});
SymbolicTensor roll(const SymbolicTensor& x, std::int64_t shift, std::optional<int> axis = std::nullopt);
SymbolicTensor slice(const SymbolicTensor& x, const std::vector<std::int64_t>& begin,
                     const std::vector<std::int64_t>& size);
SymbolicTensor strided_slice(const SymbolicTensor& x, const std::vector<SliceSpec>& axes);
SymbolicTensor take_at(const SymbolicTensor& x, std::int64_t index, int axis = 0);
SymbolicTensor take(const SymbolicTensor& x, const SymbolicTensor& indices, std::optional<int> axis = std::nullopt);
SymbolicTensor take(const SymbolicTensor& x, const Tensor& indices, std::optional<int> axis = std::nullopt);
SymbolicTensor take(const Tensor& x, const SymbolicTensor& indices, std::optional<int> axis = std::nullopt);
SymbolicTensor take_along_axis(const SymbolicTensor& x, const SymbolicTensor& indices,
                               std::optional<int> axis = std::nullopt);
SymbolicTensor take_along_axis(const SymbolicTensor& x, const Tensor& indices, std::optional<int> axis = std::nullopt);
SymbolicTensor scatter(const SymbolicTensor& indices, const SymbolicTensor& values,
                       const std::vector<std::int64_t>& shape);
SymbolicTensor scatter(const SymbolicTensor& indices, const SymbolicOperand& values,
                       const std::vector<std::int64_t>& shape);
SymbolicTensor scatter(const SymbolicOperand& indices, const SymbolicTensor& values,
                       const std::vector<std::int64_t>& shape);
SymbolicTensor segment_sum(const SymbolicTensor& data, const SymbolicOperand& segment_ids, std::int64_t num_segments);
SymbolicTensor scatter_update(const SymbolicTensor& x, const SymbolicOperand& indices, const SymbolicOperand& updates);
SymbolicTensor tril(const SymbolicTensor& x, std::int64_t k = 0);
SymbolicTensor triu(const SymbolicTensor& x, std::int64_t k = 0);
SymbolicTensor diagonal(const SymbolicTensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
SymbolicTensor trace(const SymbolicTensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);

}  // namespace cohort::ops
