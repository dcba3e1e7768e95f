#include "cohort/core/dispatch.h"
#include "cohort/kernels/functors.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/gelu.h"
#include "cohort/ops/math.h"
#include "tests/ops/op_samples.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

const Shape kSampleTable = {257, 273};

// Where an op has finite values and slopes.
std::vector<double> sample_range(const std::string& op) {
  for (const char* positive : {"Log", "Log2", "Log10", "Sqrt", "Rsqrt", "Reciprocal", "Pow", "Divide"}) {
    if (op == positive) return {0.25, 3};
  }
  if (op == "Acosh") return {1.25, 3};
  return {-0.9, 0.9};
}

std::vector<DType> sample_types(fn::Types types) {
  if (types == fn::Types::Bool) return {boolean};
  return types == fn::Types::Float ? std::vector{float32, bfloat16} : std::vector{float32, bfloat16, int32};
}

Tensor elementwise_input(const std::string& op, const Shape& shape, DType dtype, std::int64_t seed) {
  if (dtype == boolean) return sample_numbers(shape, seed) > 0.0;
  if (!is_floating(dtype)) return sample_indices(shape, 9, seed, dtype);
  const std::vector<double> range = sample_range(op);
  return sample_numbers(shape, range[0], range[1], dtype, seed);
}

std::string named(const std::string& what, DType dtype) { return what + " " + to_string(dtype); }

void add_for_all_types(OpSamples& samples, const std::string& op, fn::Types types, int operands) {
  for (DType dtype : sample_types(types)) {
    Tensors inputs;
    for (int i = 0; i < operands; ++i) inputs.push_back(elementwise_input(op, kSampleTable, dtype, i + 1));
    samples.add(named(op + " of", dtype), inputs, [=](const Tensors& x) { return run_op(op, x); });
  }
}

// tanh(x * row) + column, as the fuser writes it.
Tensor fused_chain(const Tensors& x) {
  const auto type = static_cast<std::int64_t>(x[0].dtype());
  return run_op("FusedElementwise", x,
                {{"ops", std::vector<std::string>{"Multiply", "Tanh", "Add"}},
                 {"arity", std::vector<std::int64_t>{2, 1, 2}},
                 {"args", std::vector<std::int64_t>{0, 1, 3, 4, 2}},
                 {"dtypes", std::vector<std::int64_t>{type, type, type}},
                 {"results", std::vector<std::int64_t>{2}}});
}

}  // namespace

void add_elementwise_samples(OpSamples& samples) {
#define COHORT_ROW(Name, function, types, ...) add_for_all_types(samples, #Name, fn::Types::types, 1);
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
  COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) add_for_all_types(samples, #Name, fn::Types::types, 2);
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
  COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
  const Tensor x = sample_numbers(kSampleTable), row = sample_numbers({273}, 2), column = sample_numbers({257, 1}, 3);
  samples.add("a row for all", {x, row}, [](const Tensors& t) { return t[0] * t[1]; });
  samples.add("a column for all", {x, column}, [](const Tensors& t) { return t[1] - t[0]; });
  samples.add("a scalar for all", {x, sample_numbers({}, 4)}, [](const Tensors& t) { return t[0] * t[1]; });
  // Kernels take denormal numbers for zero on whichever thread they run.
  samples.add("numbers next to zero", {x * 1e-37, row}, [](const Tensors& t) { return t[0] * (t[1] * 0.01); });
  samples.add("Select", {x, row}, [](const Tensors& t) { return where(t[0] > 0.0, t[0], t[1]); });
  samples.add("Select by a column", {x, row, column}, [](const Tensors& t) { return where(t[2] > 0.0, t[0], t[1]); });
  samples.add("BroadcastTo", {row}, [](const Tensors& t) { return broadcast_to(t[0], {257, 273}); });
  samples.add("BroadcastLike", {column, x}, [](const Tensors& t) { return broadcast_like(t[0], t[1]); });
  samples.add("SumToLike", {x, row, column}, [](const Tensors& t) {
    return Tensors{sum_to_like(t[0], t[1]), sum_to_like(t[0], t[2])};
  });
  samples.add("Gelu", {x}, [](const Tensors& t) { return run_op_all("Gelu", t); });
  for (DType dtype : {float32, bfloat16, float64}) {
    samples.add_plain(named("FusedElementwise of", dtype), {cast(x, dtype), cast(row, dtype), cast(column, dtype)},
                      fused_chain);
  }
  for (DType from : kNumbers) {
    samples.add_plain(named("Cast from", from), {cast(abs(x) * 100.0, from)}, [](const Tensors& t) {
      Tensors results;
      for (DType to : kAllTypes) results.push_back(cast(t[0], to));
      return results;
    });
  }
  samples.add_plain("Fill", {}, [](const Tensors&) { return full({300, 301}, 0.1); });
  samples.add_plain("FullLike", {x}, [](const Tensors& t) {
    return Tensors{full_like(t[0], 3), zeros_like(t[0]), ones_like(t[0])};
  });
  samples.add_plain("Range", {}, [](const Tensors&) { return arange(0.0, 9000.0, 0.1, float32); });
  samples.add_plain("Linspace", {}, [](const Tensors&) { return linspace(-1, 1, 90001); });
  samples.add_plain("Eye", {}, [](const Tensors&) { return eye(300, 301, 2); });
}

}  // namespace cohort::test
