#include "cohort/datasets/transforms/stacking.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cohort/core/thread_pool.h"

namespace cohort::datasets {
namespace {

// Rows written by one thread at a stretch: far above what starting a block costs.
constexpr std::int64_t kStackedGrainBytes = 256 << 10;

Shape with_first_axis(std::int64_t size, const Shape& rest) {
  Shape shape{size};
  for (const std::int64_t axis : rest) shape.push_back(axis);
  return shape;
}

std::string numbered(const char* name, std::size_t leaf) { return name + std::to_string(leaf); }

// Calls copy(from, to, count) for the lines of a row of `shape` in one of `target`, in elements.
template <class Copy>
void for_each_line(const Shape& shape, const Shape& target, const Copy& copy) {
  if (shape.num_elements() == 0) return;
  const int last = shape.rank() - 1;
  std::array<std::int64_t, Shape::kMaxRank> at{};
  for (std::int64_t from = 0;; from += shape[last]) {
    std::int64_t to = 0;
    for (int axis = 0; axis <= last; ++axis) to = to * target[axis] + at[static_cast<std::size_t>(axis)];
    copy(from, to, shape[last]);
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      if (++at[static_cast<std::size_t>(axis)] < shape[axis]) break;
      at[static_cast<std::size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

void fill_with(const Tensor& value, char* memory, std::size_t bytes) {
  if (!value.defined()) {
    std::memset(memory, 0, bytes);
    return;
  }
  const std::size_t width = size_of(value.dtype());
  for (std::size_t i = 0; i < bytes; i += width) std::memcpy(memory + i, value.raw(), width);
}

void write_padded(const Tensor& row, const Shape& target, const Tensor& value, char* memory, std::size_t bytes) {
  if (row.shape() == target) {
    if (bytes > 0) std::memcpy(memory, row.raw(), bytes);
    return;
  }
  fill_with(value, memory, bytes);
  const std::size_t width = size_of(row.dtype());
  for_each_line(row.shape(), target, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::memcpy(memory + static_cast<std::size_t>(to) * width,
                static_cast<const char*>(row.raw()) + static_cast<std::size_t>(from) * width,
                static_cast<std::size_t>(count) * width);
  });
}

void check_padded_shape(const char* who, const TensorSpec& leaf, const Shape& padded) {
  bool fits = padded.rank() == leaf.shape.rank();
  for (int axis = 0; fits && axis < padded.rank(); ++axis) {
    fits = padded[axis] >= kUnknown && (padded[axis] == kUnknown || padded[axis] >= leaf.shape[axis]);
  }
  if (!fits) {
    throw invalid_argument(who, "a padded shape has the axes of its tensor, none of them shorter",
                           {{"tensor", leaf}, {"padded_shape", padded}});
  }
}

}  // namespace

void add_padding(const char* who, const ElementSpec& element, const PaddingOptions& options, Attributes& attributes) {
  const std::vector<TensorSpec> leaves = element.flatten();
  const auto fits = [&](std::size_t given) { return given == 0 || given == leaves.size(); };
  if (!fits(options.padded_shapes.size()) ||
      !(fits(options.padding_values.size()) || options.padding_values.size() == 1)) {
    throw invalid_argument(who,
                           "a padded shape and a padding value for each tensor of an element, or none, is expected",
                           {{"element", to_string(element)},
                            {"padded_shapes", options.padded_shapes.size()},
                            {"padding_values", options.padding_values.size()}});
  }
  for (std::size_t i = 0; i < options.padded_shapes.size(); ++i) {
    check_padded_shape(who, leaves[i], options.padded_shapes[i]);
    attributes.set(numbered("padded_shape_", i), options.padded_shapes[i]);
  }
  for (std::size_t i = 0; i < leaves.size() && !options.padding_values.empty(); ++i) {
    const Tensor& value = options.padding_values[options.padding_values.size() == 1 ? 0 : i];
    if (!value.defined()) continue;
    if (value.is_symbolic() || value.rank() != 0 || value.dtype() != leaves[i].dtype) {
      throw invalid_argument(who, "a padding value is a scalar of its tensor's type",
                             {{"tensor", leaves[i]}, {"padding_value", value.spec()}},
                             "Write Tensor::scalar(-1, ch::int64) for a tensor of int64.");
    }
    if (value.dtype() == DType::String) {
      attributes.set(numbered("padding_text_", i), value.to_strings()[0]);
    } else {
      attributes.set(numbered("padding_value_", i), value.to_host());
    }
  }
}

Stacking::Stacking(const char* who, const ElementSpec& element) : who_(who), element_(element) {
  for (const TensorSpec& leaf : element.flatten()) {
    if (leaf.shape.rank() == Shape::kMaxRank || leaf.dtype == DType::Resource) {
      throw invalid_argument(who, "values with at most 7 axes are expected: stacked they have one more",
                             {{"element", leaf}});
    }
    leaves_.push_back({leaf, leaf.shape, Tensor(), {}});
  }
}

Stacking Stacking::of_equal_shapes(const char* who, const ElementSpec& element) { return Stacking(who, element); }

Stacking Stacking::padded(const char* who, const ElementSpec& element, const Attributes& attributes) {
  Stacking stacking(who, element);
  stacking.pads_ = true;
  for (std::size_t i = 0; i < stacking.leaves_.size(); ++i) {
    Leaf& leaf = stacking.leaves_[i];
    leaf.target = attributes.get<Shape>(numbered("padded_shape_", i), leaf.target);
    check_padded_shape(who, leaf.element, leaf.target);
    leaf.value = attributes.get<Tensor>(numbered("padding_value_", i), Tensor());
    leaf.text = attributes.get<std::string>(numbered("padding_text_", i), {});
    if (leaf.value.defined() && leaf.value.spec() != TensorSpec{leaf.element.dtype, {}}) {
      throw invalid_argument(who, "a padding value is a scalar of its tensor's type",
                             {{"tensor", leaf.element}, {"padding_value", leaf.value.spec()}});
    }
  }
  return stacking;
}

ElementSpec Stacking::spec(std::int64_t rows) const {
  std::vector<TensorSpec> stacked;
  for (const Leaf& leaf : leaves_) stacked.push_back({leaf.element.dtype, with_first_axis(rows, leaf.target)});
  return element_.with_leaves(stacked);
}

bool Stacking::keeps_rows_of(const Tensors& columns) const {
  if (!pads_) return true;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].target.compatible(columns[i].shape().slice(1))) return false;
  }
  return true;
}

void Stacking::check_row(const Leaf& leaf, const Tensor& first, const Tensor& row, std::size_t number) const {
  if (!pads_ && row.spec() != first.spec()) {
    throw invalid_argument(who_, "all elements that are put together must have the same shape",
                           {{"first", first.spec()}, {"other", row.spec()}, {"row", number}},
                           "Pad or resize them in a map before.");
  }
  bool fits = row.dtype() == leaf.element.dtype && row.rank() == leaf.target.rank();
  for (int axis = 0; pads_ && fits && axis < row.rank(); ++axis) {
    fits = leaf.target[axis] == kUnknown || row.shape()[axis] <= leaf.target[axis];
  }
  if (!fits) {
    throw invalid_argument(who_, "elements no longer than the padded shape are expected",
                           {{"padded_shape", leaf.target}, {"element", row.spec()}, {"row", number}},
                           "Cut them in a map before, or pad to the longest.");
  }
}

Shape Stacking::target_of(std::size_t leaf, std::span<const Tensors* const> rows, std::int64_t filled) const {
  const Leaf& wanted = leaves_[leaf];
  const Tensor& first = (*rows[0])[leaf];
  for (std::size_t row = 0; row < rows.size(); ++row) check_row(wanted, first, (*rows[row])[leaf], row);
  if (!pads_) return first.shape();
  Shape target = wanted.target;
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (wanted.target[axis] != kUnknown) continue;
    std::int64_t longest = 0;
    for (const Tensors* row : rows) longest = std::max(longest, (*row)[leaf].shape()[axis]);
    if (filled != kUnknown && longest > filled) {
      throw invalid_argument(who_, "elements no longer than what their batch is padded to are expected",
                             {{"padded_to", filled}, {"longest", longest}, {"tensor", leaf}},
                             "Give padded_shapes for tensors whose size is not the sequence's.");
    }
    target[axis] = filled == kUnknown ? longest : filled;
  }
  return target;
}

void Stacking::stack_strings(std::size_t leaf, std::span<const Tensors* const> rows, const Shape& target,
                             Tensor& batch) const {
  const std::int64_t width = target.num_elements();
  std::vector<std::string> values(rows.size() * static_cast<std::size_t>(width), leaves_[leaf].text);
  auto place = values.begin();
  for (const Tensors* each : rows) {
    const Tensor& row = (*each)[leaf];
    const auto* strings = static_cast<const std::string*>(row.raw());
    if (row.rank() == 0) {
      *place = *strings;
    } else {
      for_each_line(row.shape(), target, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
        std::copy_n(strings + from, count, place + to);
      });
    }
    place += width;
  }
  batch = Tensor::of_strings(std::move(values), with_first_axis(static_cast<std::int64_t>(rows.size()), target));
}

void Stacking::stack_plain(std::size_t leaf, std::span<const Tensors* const> rows, const Shape& target,
                           Tensor& batch) const {
  const DType dtype = leaves_[leaf].element.dtype;
  const auto count = static_cast<std::int64_t>(rows.size());
  batch.renew(dtype, with_first_axis(count, target), cpu());
  const std::size_t bytes = static_cast<std::size_t>(target.num_elements()) * size_of(dtype);
  auto* memory = static_cast<char*>(batch.raw());
  const std::int64_t grain =
      std::max<std::int64_t>(1, kStackedGrainBytes / std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      write_padded((*rows[row])[leaf], target, leaves_[leaf].value, memory + row * bytes, bytes);
    }
  });
}

void Stacking::stack(std::span<const Tensors* const> rows, Tensors& batch, std::int64_t filled) const {
  batch.resize(leaves_.size());
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Shape target = target_of(leaf, rows, filled);
    if (leaves_[leaf].element.dtype == DType::String) {
      stack_strings(leaf, rows, target, batch[leaf]);
    } else {
      stack_plain(leaf, rows, target, batch[leaf]);
    }
  }
}

}  // namespace cohort::datasets
