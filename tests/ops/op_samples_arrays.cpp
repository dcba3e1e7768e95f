#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/categories.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/debug.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"
#include "tests/ops/op_samples.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

}  // namespace

void add_array_samples(OpSamples& samples) {
  const Tensor x = sample_numbers({31, 67, 41}), y = sample_numbers({31, 67, 41}, 2);
  samples.add("Reshape", {x}, [](const Tensors& t) { return reshape(t[0], {67, -1}); });
  samples.add("ReshapeLike", {x, sample_numbers({67, 31 * 41})},
              [](const Tensors& t) { return reshape_like(t[0], t[1]); });
  samples.add("ExpandDims", {x}, [](const Tensors& t) { return squeeze(expand_dims(t[0], 1)); });
  samples.add("MergeAxes", {x}, [](const Tensors& t) { return unmerge_axis(merge_axes(t[0], 0, 2), t[0], 0, 0, 2); });
  samples.add("Identity", {x}, [](const Tensors& t) { return Tensors{copy(t[0]), stop_gradient(t[0])}; });
  samples.add("WaitFor", {x, y}, [](const Tensors& t) { return run_op("WaitFor", t); });
  samples.add_plain("ShapeOf", {x}, [](const Tensors& t) { return shape_of(t[0]); });
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    samples.add("Transpose", {x}, [=](const Tensors& t) { return transpose(t[0], axes); });
  }
  samples.add("Slice", {x}, [](const Tensors& t) { return slice(t[0], {1, 2, 3}, {29, 60, 38}); });
  samples.add_second_order();
  samples.add("StridedSlice", {x}, [](const Tensors& t) { return strided_slice(t[0], {{30, 0, -1}, {1, 60, 2}}); });
  samples.add_second_order();
  for (const char* mode : {"constant", "reflect", "symmetric"}) {
    samples.add("Pad with " + std::string(mode), {x}, [=](const Tensors& t) {
      return pad(t[0], {{1, 2}, {3, 0}, {4, 5}}, mode);
    });
  }
  samples.add("Roll", {x}, [](const Tensors& t) { return roll(t[0], 5, 1) + roll(t[0], -7); });
  samples.add("Concat", {x, y}, [](const Tensors& t) { return concatenate(t, 1); });
  samples.add("Stack", {x, y}, [](const Tensors& t) { return stack(t, 1); });
  samples.add("Split", {x}, [](const Tensors& t) { return split(t[0], {10, 30}, 1); });
  samples.add("SplitEvenly", {y}, [](const Tensors& t) { return split(slice(t[0], {0, 0, 0}, {30, 67, 41}), 3); });
  samples.add("SplitLike", {concatenate({x, y}, 2), x, y}, [](const Tensors& t) {
    return split_like(t[0], {t[1], t[2]}, 2);
  });
  samples.add("Tile", {x}, [](const Tensors& t) { return tile(t[0], {2, 1, 3}); });
  samples.add("Repeat", {x}, [](const Tensors& t) { return repeat(t[0], 2, 1); });
  samples.add_plain("CheckNumerics", {x}, [](const Tensors& t) {
    assert_true(all(t[0] < 2.0), "samples are small");
    return check_numerics(t[0]);
  });
}

void add_index_samples(OpSamples& samples) {
  const Tensor table = sample_numbers({401, 300}), rows = sample_indices({700}, 401);
  samples.add("Gather", {table, rows}, [](const Tensors& t) { return gather(t[0], t[1]); });
  samples.add("Gather of columns", {table, sample_indices({331}, 300)},
              [](const Tensors& t) { return gather(t[0], t[1], 1); });
  samples.add("ScatterAddLike", {table, rows, sample_numbers({700, 300}, 2)},
              [](const Tensors& t) { return scatter_add_like(t[0], t[1], t[2]); });
  samples.add("TakeAlongAxis", {table, sample_indices({401, 331}, 300)},
              [](const Tensors& t) { return take_along_axis(t[0], t[1], 1); });
  samples.add_second_order();
  samples.add_plain("OneHot", {rows}, [](const Tensors& t) { return one_hot(t[0], 401); });
  const Tensor places = stack({sample_indices({33001}, 401, 3), sample_indices({33001}, 300, 4)}, 1);
  samples.add("GatherNd", {table, places}, [](const Tensors& t) { return gather_nd(t[0], t[1]); });
  samples.add_second_order();
  samples.add("ScatterNd", {places, sample_numbers({33001}, 5)}, [](const Tensors& t) {
    return scatter_nd(t[0], t[1], {401, 300});
  });
  samples.add("TensorScatterUpdate", {table, places, sample_numbers({33001}, 5)},
              [](const Tensors& t) { return scatter_update(t[0], t[1], t[2]); });
  samples.add_plain("Where", {table}, [](const Tensors& t) { return where(t[0] > 0.5); });
  for (int axis : {0, 1}) {
    samples.add("Sort", {table}, [=](const Tensors& t) { return Tensors{sort(t[0], axis), argsort(t[0], axis)}; });
    samples.add("Cumsum", {table}, [=](const Tensors& t) { return cumsum(t[0], axis); });
    samples.add("Cumprod", {table + 1.5}, [=](const Tensors& t) { return cumprod(t[0] * 0.7, axis); });
    samples.add("LinearScan", {table, table * 0.5}, [=](const Tensors& t) { return linear_scan(t[0], t[1], axis); });
    samples.add_plain("ArgMax", {table}, [=](const Tensors& t) {
      return Tensors{argmax(t[0], axis), argmin(t[0], axis)};
    });
  }
  samples.add("TopK", {table}, [](const Tensors& t) {
    const TopK best = top_k(t[0], 7);
    return Tensors{best.values, best.indices};
  });
  samples.add_plain("Unique", {sample_indices({70001}, 900)}, [](const Tensors& t) {
    const Unique found = unique(t[0]);
    return Tensors{found.values, found.inverse, found.counts};
  });
  samples.add_plain("ArgMax of all", {table}, [](const Tensors& t) { return Tensors{argmax(t[0]), argmin(t[0])}; });
  samples.add_plain("Bucketize", {table}, [](const Tensors& t) { return bucketize(t[0], {-0.5, 0.0, 0.25}); });
  samples.add_plain("CountCategories", {sample_indices({401, 300}, 90)},
                    [](const Tensors& t) { return count_categories(t[0], 90); });
}

void add_reduction_samples(OpSamples& samples) {
  // Many rows, long rows, rows of a few elements and all of it at once: each is cut in its own way.
  const std::vector<std::pair<Shape, Axes>> cuts = {{{301, 303}, 0},   {{301, 303}, 1}, {{301, 303}, {}},
                                                    {{3, 90001}, 1},   {{90001, 3}, 0}, {{40, 57, 41}, {0, 2}},
                                                    {{40, 57, 41}, 1}, {{90001, 3}, 1}};
  using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);
  const std::pair<const char*, Reduction> reductions[] = {
      {"Sum", sum}, {"Mean", mean}, {"Prod", prod}, {"Max", max}, {"Min", min}};
  for (const auto& [name, reduction] : reductions) {
    for (const auto& [shape, axes] : cuts) {
      const bool product = reduction == static_cast<Reduction>(prod);
      const Tensor x = product ? sample_numbers(shape, 0.99, 1.01) : sample_numbers(shape, 0, 1);
      samples.add(name + shape.to_string(), {x},
                  [=, reduction = reduction, axes = axes](const Tensors& t) { return reduction(t[0], axes, false); });
    }
  }
  for (const auto& [shape, axes] : cuts) {
    for (DType dtype : {bfloat16, float16, float64, int32}) {
      samples.add_plain("Sum" + shape.to_string() + to_string(dtype), {sample_numbers(shape, 0, 9, dtype)},
                        [axes = axes](const Tensors& t) {
                          return Tensors{sum(t[0], axes), max(t[0], axes)};
                        });
    }
    samples.add_plain("Any" + shape.to_string(), {sample_numbers(shape) > 0.99}, [axes = axes](const Tensors& t) {
      return Tensors{any(t[0], axes), all(t[0], axes)};
    });
  }
  samples.add_plain("SizeOf", {sample_numbers({3, 5})}, [](const Tensors& t) { return size_of(t[0]); });
}

}  // namespace cohort::test
