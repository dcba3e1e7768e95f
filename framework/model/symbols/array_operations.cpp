#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"

// Keras's operations that pad, cut, stack and pick, beyond those of shaping.cpp.
namespace cohort::operations {
namespace {

Element padded(const Arguments& a, const Attributes& config) {
  const Integers widths = integers_of(config, "pad_width");
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i + 1 < widths.size(); i += 2) pairs.emplace_back(widths[i], widths[i + 1]);
  const Tensor& x = a[0].leaf();
  if (pairs.size() == 1) pairs.resize(static_cast<std::size_t>(x.rank()), pairs[0]);
  return Element(ops::pad(x, pairs, text_of(config, "mode", "constant"), number_of(config, "constant_values")));
}

// The position of each element along an axis, counted from 1 and in the type of x; no size need be known.
Tensor positions(const Tensor& x, int axis) { return ops::cumsum(ops::ones_like(x), axis); }

// x where its column less its row compares with k, over the last two axes, and 0 elsewhere.
Tensor banded(const Tensor& x, const Attributes& config, const char* field, Tensor (*compare)(const Tensor&, double)) {
  const Tensor numbers = x.dtype() == DType::Bool ? ops::cast(x, DType::Int32) : x;
  const Tensor distance = positions(numbers, -1) - positions(numbers, -2);
  const Tensor kept = ops::where(compare(distance, number_of(config, field)), numbers, ops::zeros_like(numbers));
  return ops::cast(kept, x.dtype());
}

// The matrices that two axes make, moved to the end.
Tensor with_matrices_last(const Tensor& x, const Attributes& config) {
  const int rank = x.rank();
  const int rows = normalize_axis(static_cast<int>(integer_of(config, "axis1", 0)), rank, "Diagonal");
  const int columns = normalize_axis(static_cast<int>(integer_of(config, "axis2", 1)), rank, "Diagonal");
  Integers order;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != rows && axis != columns) order.push_back(axis);
  }
  order.push_back(rows);
  order.push_back(columns);
  return ops::transpose(x, order);
}

Tensor equal_to(const Tensor& x, double k) { return ops::equal(x, k); }
Tensor at_most(const Tensor& x, double k) { return ops::less_equal(x, k); }
Tensor at_least(const Tensor& x, double k) { return ops::greater_equal(x, k); }

Element diagonal(const Arguments& a, const Attributes& config) {
  const Tensor x = with_matrices_last(a[0].leaf(), config);
  const std::int64_t rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  const std::int64_t offset = integer_of(config, "offset");
  if (rows < 0 || columns < 0) {
    throw unimplemented("Diagonal", "matrices of a known size are expected", {{"x.shape", x.shape()}});
  }
  const Tensor by_column = ops::sum(banded(x, config, "offset", equal_to), {-2});
  std::vector<ops::SliceSpec> cut(static_cast<std::size_t>(by_column.rank()));
  cut.back() = {std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(std::min(columns, rows + offset), 0), 1};
  return Element(ops::strided_slice(by_column, cut));
}

Element parts_of(const Tensor& x, const Attributes& config, int axis) {
  Tensors parts;
  const Integers cuts = integers_of(config, "indices_or_sections");
  const AttributeValue* given = config.find("indices_or_sections");
  const std::int64_t size = x.shape()[normalize_axis(axis, x.rank(), "Split")];
  if (size < 0) throw unimplemented("Split", "an axis of a known size is expected", {{"x.shape", x.shape()}});
  Integers bounds = {0};
  if (given && std::holds_alternative<std::int64_t>(*given)) {
    for (std::int64_t i = 0, rest = size; i < cuts[0]; ++i) {
      const std::int64_t part = (rest + cuts[0] - i - 1) / (cuts[0] - i);  // the first ones take what is left over
      rest -= part;
      bounds.push_back(bounds.back() + part);
    }
  } else {
    bounds.insert(bounds.end(), cuts.begin(), cuts.end());
    bounds.push_back(size);
  }
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::vector<ops::SliceSpec> cut(static_cast<std::size_t>(x.rank()));
    cut[static_cast<std::size_t>(normalize_axis(axis, x.rank(), "Split"))] = {bounds[i], bounds[i + 1], 1};
    parts.push_back(ops::strided_slice(x, cut));
  }
  return tuple_of(parts);
}

Element unstacked(const Arguments& a, const Attributes& config) {
  const Tensor& x = a[0].leaf();
  const int axis = normalize_axis(static_cast<int>(integer_of(config, "axis")), x.rank(), "Unstack");
  const std::int64_t count = integer_of(config, "num", x.shape()[axis]);
  if (count < 0) throw unimplemented("Unstack", "an axis of a known size is expected", {{"x.shape", x.shape()}});
  Tensors parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(ops::take_at(x, i, axis));
  return tuple_of(parts);
}

// Joined along `axis` after each got at least `rank` axes, `in_front` or behind the others.
Tensor joined(const Tensors& xs, int rank, int axis, bool in_front) {
  Tensors grown;
  for (Tensor x : xs) {
    while (x.rank() < rank) x = ops::expand_dims(x, in_front ? 0 : -1);
    grown.push_back(x);
  }
  return ops::concatenate(grown, axis);
}

Element selected(const Arguments& a, const Attributes&) {
  const Tensors conditions = a[0].flatten(), choices = a[1].flatten();
  Tensor result = a[2].empty() ? ops::zeros_like(choices.at(0)) : a[2].leaf();
  for (std::size_t i = conditions.size(); i-- > 0;) result = ops::where(conditions[i], choices.at(i), result);
  return Element(result);
}

Element differences(const Arguments& a, const Attributes& config) {
  Tensor x = a[0].leaf();
  const int axis = normalize_axis(static_cast<int>(integer_of(config, "axis", -1)), x.rank(), "Diff");
  std::vector<ops::SliceSpec> later(static_cast<std::size_t>(x.rank())), earlier = later;
  later[static_cast<std::size_t>(axis)].begin = 1;
  earlier[static_cast<std::size_t>(axis)].end = -1;
  for (std::int64_t i = 0; i < integer_of(config, "n", 1); ++i) {
    x = ops::strided_slice(x, later) - ops::strided_slice(x, earlier);
  }
  return Element(x);
}

Element rotated(const Arguments& a, const Attributes& config) {
  const Integers axes = integers_of(config, "axes", {0, 1});
  const int first = static_cast<int>(axes.at(0)), second = static_cast<int>(axes.at(1));
  Tensor x = a[0].leaf();
  for (std::int64_t turn = ((integer_of(config, "k", 1) % 4) + 4) % 4; turn > 0; --turn) {
    x = ops::flip(ops::swapaxes(x, first, second), {first});
  }
  return Element(x);
}

Element sliced(const Arguments& a, const Attributes& config) {
  return Element(ops::slice(a[0].leaf(), integers_of(config, "start_indices"), integers_of(config, "shape")));
}

[[maybe_unused]] const bool arrays_registered = [] {
  register_operation({"keras.src.ops.numpy",
                      "Pad",
                      {"x", "constant_values"},
                      {{"pad_width", OperationField::Kind::Pairs}, {"mode", OperationField::Kind::Text}},
                      padded});
  const std::vector<std::string> none;
  add_operation("numpy", "Tril", {"x"}, {"k"}, [](const Arguments& a, const Attributes& config) {
    return Element(banded(a[0].leaf(), config, "k", at_most));
  });
  add_operation("numpy", "Triu", {"x"}, {"k"}, [](const Arguments& a, const Attributes& config) {
    return Element(banded(a[0].leaf(), config, "k", at_least));
  });
  add_operation(
      "numpy", "Trace", {"x"}, {"offset", "axis1", "axis2"}, [](const Arguments& a, const Attributes& config) {
        return Element(ops::sum(banded(with_matrices_last(a[0].leaf(), config), config, "offset", equal_to), {-2, -1}));
      });
  add_operation("numpy", "Diagonal", {"x"}, {"offset", "axis1", "axis2"}, diagonal);
  add_operation("numpy", "Append", {"x1", "x2"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    if (config.has("axis")) {
      return Element(ops::concatenate({a[0].leaf(), a[1].leaf()}, static_cast<int>(integer_of(config, "axis"))));
    }
    return Element(ops::concatenate({ops::reshape(a[0].leaf(), {-1}), ops::reshape(a[1].leaf(), {-1})}, 0));
  });
  add_operation("numpy", "Hstack", {"xs"}, none, [](const Arguments& a, const Attributes&) {
    const Tensors xs = a[0].flatten();
    return Element(joined(xs, 1, xs.at(0).rank() < 2 ? 0 : 1, false));
  });
  add_operation("numpy", "Vstack", {"xs"}, none,
                [](const Arguments& a, const Attributes&) { return Element(joined(a[0].flatten(), 2, 0, true)); });
  add_operation("numpy", "Dstack", {"xs"}, none, [](const Arguments& a, const Attributes&) {
    Tensors xs = a[0].flatten();
    for (Tensor& x : xs) {
      if (x.rank() < 2) x = joined({x}, 2, 0, true);
    }
    return Element(joined(xs, 3, 2, false));
  });
  add_operation("numpy", "ArraySplit", {"x"}, {"indices_or_sections", "axis"},
                [](const Arguments& a, const Attributes& config) {
                  return parts_of(a[0].leaf(), config, static_cast<int>(integer_of(config, "axis")));
                });
  add_operation("numpy", "Vsplit", {"x"}, {"indices_or_sections"},
                [](const Arguments& a, const Attributes& config) { return parts_of(a[0].leaf(), config, 0); });
  add_operation("numpy", "Hsplit", {"x"}, {"indices_or_sections"}, [](const Arguments& a, const Attributes& config) {
    return parts_of(a[0].leaf(), config, a[0].leaf().rank() == 1 ? 0 : 1);
  });
  add_operation("numpy", "Dsplit", {"x"}, {"indices_or_sections"},
                [](const Arguments& a, const Attributes& config) { return parts_of(a[0].leaf(), config, 2); });
  add_operation("numpy", "Diff", {"a"}, {"n", "axis"}, differences);
  add_operation("numpy", "Rot90", {"array"}, {"k", "axes"}, rotated);
  add_operation("numpy", "Select", {"condlist", "choicelist", "default"}, none, selected);
  add_operation("numpy", "FullLike", {"x", "fill_value"}, {"dtype"}, [](const Arguments& a, const Attributes& config) {
    const Tensor& x = a[0].leaf();
    const DType dtype = config.has("dtype") ? dtype_from_string(text_of(config, "dtype")) : x.dtype();
    return Element(ops::broadcast_like(ops::cast(a[1].leaf(), dtype), x));
  });
  add_operation("numpy", "Array", {"x"}, {"dtype"}, [](const Arguments& a, const Attributes& config) {
    const Tensor& x = a[0].leaf();
    return Element(config.has("dtype") ? ops::cast(x, dtype_from_string(text_of(config, "dtype"))) : x);
  });
  add_operation("core", "Unstack", {"x"}, {"num", "axis"}, unstacked);
  add_operation("core", "Slice", {"inputs", "start_indices"}, {"shape"}, sliced);
  add_operation("core", "ScatterUpdate", {"inputs", "indices", "updates"}, {"reduction"},
                [](const Arguments& a, const Attributes& config) {
                  if (config.has("reduction")) {
                    throw unimplemented("ScatterUpdate", "no reduction is expected",
                                        {{"reduction", text_of(config, "reduction")}});
                  }
                  return Element(ops::scatter_update(a[0].leaf(), a[1].leaf(), a[2].leaf()));
                });
  add_operation("math", "TopK", {"x"}, {"k", "sorted"}, [](const Arguments& a, const Attributes& config) {
    const ops::TopK top = ops::top_k(a[0].leaf(), integer_of(config, "k"), truth_of(config, "sorted", true));
    return tuple_of({top.values, top.indices});
  });
  return true;
}();

}  // namespace
}  // namespace cohort::operations
