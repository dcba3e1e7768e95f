#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_arrays.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/keras_names.h"

// Keras's operations that write to positions, and sums of rows by their numbers.
namespace cohort {
namespace {

using operations::add_operation;
using operations::Arguments;

Element segment_sums(const Arguments& a, const Attributes& config) {
  if (!config.has("num_segments")) {
    throw unimplemented("SegmentSum", "the number of segments is expected", {},
                        "Without it the shape of the sums is known only when the ids are.");
  }
  return ops::segment_sum(a[0].leaf(), a[1].leaf(), operations::integer_of(config, "num_segments"));
}

[[maybe_unused]] const bool scatters_registered = [] {
  add_operation("core", "Scatter", {"indices", "values"}, {"shape"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::scatter(a[0].leaf(), a[1].leaf(), Shape(operations::integers_of(config, "shape"))));
  });
  add_operation("core", "ScatterUpdate", {"inputs", "indices", "updates"}, {"reduction"},
                [](const Arguments& a, const Attributes& config) {
                  if (config.has("reduction")) {
                    throw unimplemented("ScatterUpdate", "no reduction is expected",
                                        {{"reduction", operations::text_of(config, "reduction")}});
                  }
                  return Element(ops::scatter_update(a[0].leaf(), a[1].leaf(), a[2].leaf()));
                });
  // `sorted` tells Keras that it may take a faster way to the same sums.
  add_operation("math", "SegmentSum", {"data", "segment_ids"}, {"num_segments", "sorted"}, segment_sums);
  return true;
}();

}  // namespace

namespace ops {

using operations::argument_of;
using operations::call_one;

SymbolicTensor scatter(const SymbolicTensor& indices, const SymbolicTensor& values,
                       const std::vector<std::int64_t>& shape) {
  return call_one("core>Scatter", {indices, values}, {{"shape", shape}});
}
SymbolicTensor scatter(const SymbolicTensor& indices, const SymbolicOperand& values,
                       const std::vector<std::int64_t>& shape) {
  return call_one("core>Scatter", {indices, argument_of(values)}, {{"shape", shape}});
}
SymbolicTensor scatter(const SymbolicOperand& indices, const SymbolicTensor& values,
                       const std::vector<std::int64_t>& shape) {
  return call_one("core>Scatter", {argument_of(indices), values}, {{"shape", shape}});
}
SymbolicTensor scatter_update(const SymbolicTensor& x, const SymbolicOperand& indices, const SymbolicOperand& updates) {
  return call_one("core>ScatterUpdate", {x, argument_of(indices), argument_of(updates)});
}
SymbolicTensor segment_sum(const SymbolicTensor& data, const SymbolicOperand& segment_ids, std::int64_t num_segments) {
  return call_one("math>SegmentSum", {data, argument_of(segment_ids)},
                  {{"num_segments", num_segments}, {"sorted", false}});
}

}  // namespace ops
}  // namespace cohort
